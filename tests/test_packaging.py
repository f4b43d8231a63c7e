"""What a user installs: really built, really installed, without network."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

import gitmem
from gitmem import resources
from gitmem.errors import StorageFailed
from tests.support.seal import sealed

ROOT = Path(__file__).resolve().parents[1]
FINDS = "from gitmem import resources as r; print(r.templates(), r.hooks(), sep='\\n')"


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """Return what COMMAND prints where neither this checkout nor an index can be reached."""
    env = sealed(os.environ, home=Path(os.devnull)) | {"PIP_CONFIG_FILE": os.devnull}
    env |= {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    env.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel made from it, as a release makes them."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (only,) = built.glob("*.whl")
    return only


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """The interpreter of a fresh environment that sees our dependencies but not gitmem."""
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    fresh = tmp_path / "venv" / "bin" / "python"
    site = run(fresh, "-c", "import sysconfig as s; print(s.get_path('purelib'))", cwd=tmp_path)
    # Folders named in a .pth are searched, but their own .pth files are not read: an editable
    # gitmem of the environment that runs the tests stays invisible.
    ours = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (Path(site.strip()) / "dependencies.pth").write_text("\n".join(sorted(ours)))
    return fresh


def install(python: Path, *what: str | Path) -> None:
    # --ignore-installed, so that pip leaves the environment that runs the tests alone.
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--ignore-installed"]
    run(python, "-m", "pip", "install", *options, *what, cwd=python.parent)


def found_by(python: Path, cwd: Path, **variables: str) -> list[Path]:
    return [Path(line) for line in run(python, "-c", FINDS, cwd=cwd, **variables).splitlines()]


def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def shipped(folder: str) -> Iterator[str]:
    """The files of a top-level folder, as they are called in a wheel."""
    found = [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    assert found, f"{folder}/ is empty"
    return (f"gitmem/{path.relative_to(ROOT).as_posix()}" for path in found)


def test_the_wheel_holds_the_package_its_folders_and_its_licence(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())

    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "gitmem").rglob("*.py")}
    assert names >= {*modules, "gitmem/py.typed", *shipped("templates"), *shipped("hooks")}
    assert {name.split("/")[0] for name in names} == {
        "gitmem",
        f"gitmem_cli-{gitmem.__version__}.dist-info",
    }
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_the_sdist_holds_what_a_packager_needs_to_build_and_test(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert names >= {
        "gitmem/__init__.py",
        "templates/README.md",
        "hooks/README.md",
        "tests/conftest.py",
        "tests/support/git.py",
        "Makefile",
        "LICENSE",
        "README.md",
        "pyproject.toml",
    }


def test_the_runtime_dependencies_are_these_four(wheel: Path) -> None:
    required = metadata(wheel).get_all("Requires-Dist", [])

    assert {line for line in required if "extra ==" not in line} == {
        "click",
        "pygit2>=1.20.1",
        "python-frontmatter",
        "pyyaml",
    }


def test_the_metadata_says_who_we_are(wheel: Path) -> None:
    said = metadata(wheel)

    assert said["Name"] == "gitmem-cli"
    assert said["Version"] == gitmem.__version__
    assert said["Requires-Python"] == ">=3.11"
    assert said["License-Expression"] == "MIT"
    assert said["Description-Content-Type"] == "text/markdown"


def test_an_installed_wheel_finds_its_folders_inside_the_package(
    wheel: Path, python: Path, tmp_path: Path
) -> None:
    install(python, wheel)

    for folder, name in zip(found_by(python, tmp_path), ("templates", "hooks"), strict=True):
        assert folder.is_relative_to(tmp_path / "venv")
        assert folder.parts[-2:] == ("gitmem", name)
        assert (folder / "README.md").is_file()


def test_an_editable_install_finds_the_folders_of_the_checkout(
    python: Path, tmp_path: Path
) -> None:
    install(python, "--editable", ROOT)

    assert found_by(python, tmp_path) == [ROOT / "templates", ROOT / "hooks"]


def test_a_plain_checkout_finds_its_own_folders(python: Path, tmp_path: Path) -> None:
    found = found_by(python, tmp_path, PYTHONPATH=str(ROOT))

    assert found == [ROOT / "templates", ROOT / "hooks"]


def test_the_installed_command_tells_its_version(wheel: Path, python: Path, tmp_path: Path) -> None:
    install(python, wheel)

    assert gitmem.__version__ in run(python.with_name("gitmem"), "--version", cwd=tmp_path)


def test_a_strangers_folder_beside_the_package_is_not_taken_for_ours(tmp_path: Path) -> None:
    (tmp_path / "gitmem").mkdir()
    (tmp_path / "templates").mkdir()

    with pytest.raises(StorageFailed, match="templates folder is missing") as caught:
        resources.find("templates", package=tmp_path / "gitmem")

    assert "install gitmem again from its checkout" in caught.value.hint
