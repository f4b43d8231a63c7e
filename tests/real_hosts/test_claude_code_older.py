"""A short drive of an older Claude Code: start, write, transcript."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real_hosts.bench import OLDER_CLAUDE_CODE, Bench, a_bench, call, program, script

pytestmark = pytest.mark.hosts


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    program("claude", OLDER_CLAUDE_CODE)
    with a_bench(tmp_path_factory.mktemp("older"), claude=OLDER_CLAUDE_CODE) as bench:
        bench.begin("claude-code")
        yield bench


def test_the_first_request_holds_memory(bench: Bench) -> None:
    assert "zebra-quartz" in bench.seen(bench.claude("hello").first)


def test_a_write_is_a_commit_of_its_session(bench: Bench) -> None:
    write = call("Write", file_path=f"{bench.group}/facts/oslo.md", content="Kroner.")
    run = bench.claude(script(write), "--allowedTools", "Write", "--add-dir", bench.group)

    assert bench.commit_of("facts/oslo.md").get("session") == run.session != ""


def test_a_conversation_is_imported_and_found(bench: Bench) -> None:
    bench.claude("How many parcels fit into the blue van?")
    done = bench.gitmem_json("transcript", "import", "claude-code", "--project", ".")

    assert done["problems"] == []
    assert [each for each in done["passed"] if each.startswith("unknown")] == []
    hits = bench.hits("parcels in the blue van", "transcripts")
    assert any("How many parcels fit" in each["text"] for each in hits)
