"""Commands whose arguments may be whole texts."""

from __future__ import annotations

import click

from gitmem.cli.declare import Command


class TextCommand(Command):
    """A command whose arguments may be whole texts.

    A text that begins with a dash (`- milk`, a `---` of frontmatter) is no option: none of ours has
    a blank in its name.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put such texts where no option is looked for."""
        end = (*args, "--").index("--")
        options, texts = self._parted(args[:end])
        rest = [*texts, *args[end + 1 :]]
        return super().parse_args(ctx, [*options, "--", *rest] if rest else options)

    def _parted(self, args: list[str]) -> tuple[list[str], list[str]]:
        valued = {
            name
            for each in self.params
            if isinstance(each, click.Option) and not each.is_flag
            for name in each.opts
        }
        options: list[str] = []
        texts: list[str] = []
        for arg in args:
            is_value = bool(options) and options[-1] in valued
            (texts if _is_text(arg) and not is_value else options).append(arg)
        return options, texts


def _is_text(arg: str) -> bool:
    name = arg.partition("=")[0]
    return arg.startswith("-") and (arg.startswith("---") or any(map(str.isspace, name)))
