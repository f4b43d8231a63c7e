"""The command `inject`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.cli.declare import at, named, option
from gitmem.cli.declare import command as declare
from gitmem.cli.input import STDIN, read_stdin
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import columns, plain, short
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from gitmem.memory.context.inject import Injected


@declare("inject")
@named("--user", metavar="ID", help="User in the conversation; adds their profile")
@option(
    "--user-mode", metavar="MODE", default="", help="Form of the profile: full, pointer or none"
)
@option("--prompt", metavar="TEXT", help="Add passages that match this prompt; - reads stdin")
@option(
    "--top", metavar="K", type=int, help="With a prompt: maximum number of passages (default 8)"
)
@option(
    "--chars",
    metavar="N",
    type=int,
    help="With a prompt: maximum size of the passages in characters",
)
@at
@option(
    "--format",
    "form",
    metavar="F",
    default="",
    help="Format: xml, sections, markdown, snippets or json",
)
@option("--budget", metavar="N", type=int, help="Maximum size in characters")
@named("--layer", "layers", metavar="L", multiple=True, help="Print only this layer; repeatable")
@option("--annotate", is_flag=True, help="Add path, date and state to each piece")
@option("--explain", is_flag=True, help="Explain each piece instead of printing the text")
def inject_command(
    call: Invocation,
    *,
    user: str | None,
    user_mode: str,
    prompt: str | None,
    top: int | None,
    chars: int | None,
    at: str | None,
    form: str,
    budget: int | None,
    layers: tuple[str, ...],
    annotate: bool,
    explain: bool,
) -> None:
    """Print the context for your model

    Reads commits only, never the work tree: the same commits, options and day give the same bytes.
    The layout in gitmem.yaml defines which layers are printed, in which order and form.

    With --prompt, adds the passages that match the end of the prompt, each with its path, date and
    state, or none if no passage matches well. --explain shows why each was chosen or nearly chosen.

    \b
    Examples:
      gitmem inject
      gitmem inject --user telegram:123456 --budget 9000
      gitmem inject --prompt "Why did we choose ESM?" --explain
      gitmem inject --at yesterday --explain
    """
    from gitmem.memory.context.inject import inject

    with call.group() as group:
        found = inject(
            group,
            user=user or "",
            user_mode=user_mode,
            prompt=_prompt(prompt),
            top=top,
            chars=chars,
            at=at,
            format=form,
            budget=budget,
            layers=layers,
            annotate=annotate or None,
        )
    if call.settings.json or explain:
        call.answer(found, _report(call, found, at), data=True)
        return
    _remark(call, found, at)
    _print(found.text)


def _prompt(prompt: str | None) -> str | None:
    if prompt != STDIN:
        return prompt
    return read_stdin("prompt", "for example --prompt TEXT").decode("utf-8", "replace")


def _print(text: str) -> None:
    """The text and not a byte more, but where a person looks at it."""
    end = "\n" if text and sys.stdout.isatty() else ""
    sys.stdout.flush()
    sys.stdout.buffer.write((text + end).encode())


def _remark(call: Invocation, found: Injected, at: str | None) -> None:
    """What is not in the text, on the side."""
    if not found.manifest.pieces:
        call.remark(_why_nothing(call, found, at))
    for each in _uncommitted(call, found):
        call.remark(each)
    for each in (found.manifest.layout_problem, *found.manifest.notes):
        if each:
            call.remark(each)
    shortened = sum(bool(each.cut) for each in found.manifest.pieces) + _dropped(found)
    if shortened:
        call.remark(f"the budget left out or cut {counted(shortened, 'piece')}: --explain has them")


def _dropped(found: Injected) -> int:
    from gitmem.memory.context.manifest import OVER_BUDGET

    return sum(each.why == OVER_BUDGET for each in found.manifest.left_out)


def _why_nothing(call: Invocation, found: Injected, at: str | None) -> str:
    from gitmem.memory.context.gather import BY_PROMPT

    if not found.layout_blob and at:
        from gitmem.model.text.format import quoted

        files = call.command(f"list --at {quoted(at)}")
        return f"no context: this group had no layout then; see: {files}"
    if not found.layout_blob:
        init = call.command("init --layout standard")
        return f"no context: this group has no layout; give it one: {init}"
    if _dropped(found):
        return f"no context fits into {counted(found.budget or 0, 'character')}"
    if found.prompted:
        return "no passage matches the prompt; see the nearest ones: --explain"
    if any(each.why == BY_PROMPT for each in found.manifest.left_out):
        layer = call.command("inject --layer NAME")
        return f"no context: {_layout(found, 'the layout ')} needs a prompt; see a layer: {layer}"
    explain = call.command("inject --explain")
    return f"no context: the layers of {_layout(found)} are empty; see: {explain}"


def _layout(found: Injected, before: str = "") -> str:
    """The layout by its name, if it has one."""
    return f"{before}{found.layout}" if found.layout else "this layout"


def _report(call: Invocation, found: Injected, at: str | None) -> Iterator[str]:
    style = call.style
    limit = "" if found.budget is None else f" of {found.budget:,}"
    pins = ", ".join(f"{name} {short(commit)}" for name, commit in found.pins.items())
    rows = [
        ("layout", f"{found.layout or 'none'}, format {found.format}"),
        ("date", f"{found.date} {found.zone}"),
        ("pins", pins),
        (
            "size",
            f"{found.chars:,}{limit} characters in {counted(len(found.manifest.pieces), 'piece')}",
        ),
    ]
    yield from columns(rows, (style.dim,))
    if found.manifest.pieces:
        yield from ("", "shown")
        yield from columns(_placed(found), (plain, style.name, style.bold))
    if found.manifest.left_out:
        yield from ("", "left out")
        yield from columns(_left(found), (plain, style.bold))
    for each in _told(call, found, at):
        yield from ("", call.addressed(each))


def _placed(found: Injected) -> Iterator[tuple[str, ...]]:
    for each in found.manifest.pieces:
        size = each.lack or (f"cut: {each.cut}" if each.cut else f"{each.chars:,} characters")
        address = f"{each.address} {each.lines}".rstrip()
        yield "", each.layer, _address(each.group, address), size, each.why


def _left(found: Injected) -> Iterator[tuple[str, ...]]:
    for each in found.manifest.left_out:
        yield "", each.layer, _address(each.group, each.address), each.why


def _address(group: str, address: str) -> str:
    return f"{group}: {address}" if group else address


def _uncommitted(call: Invocation, found: Injected) -> Iterator[str]:
    edits, held = found.manifest.uncommitted, found.manifest.held
    if edits:
        capture = call.command("capture")
        yield f"not shown, because not committed: {counted(edits, 'edit')}; commit with: {capture}"
    if held:
        decide = call.command("held")
        yield f"not shown, because it is held: {counted(held, 'edit')}; decide with: {decide}"


def _told(call: Invocation, found: Injected, at: str | None) -> Iterator[str]:
    yield from _uncommitted(call, found)
    yield from filter(None, (found.manifest.layout_problem, *found.manifest.notes))
    if not found.manifest.pieces:
        yield _why_nothing(call, found, at)
