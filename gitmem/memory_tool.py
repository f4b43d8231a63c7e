"""Claude's memory tool on a group: for the tool runner of the Anthropic SDK.

    import anthropic
    import gitmem
    from gitmem.memory_tool import GitMemoryTool

    with gitmem.open("main", store="~/memory", agent="claude", create=True) as memory:
        runner = anthropic.Anthropic().beta.messages.tool_runner(
            model="...", max_tokens=4096, tools=[GitMemoryTool(memory)], messages=[...]
        )
        print(runner.until_done())

It needs the extra `anthropic`. Every other program uses `gitmem memory-tool`, which does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gitmem.errors import ExtraMissing
from gitmem.hosts.memory_tool.commands import COMMANDS, Answer, MemoryCommands

try:
    from anthropic.tools import BetaAbstractMemoryTool, ToolError
except ImportError as error:
    raise ExtraMissing(
        "gitmem.memory_tool needs the Anthropic SDK, which is not installed or too old: "
        "pip install 'gitmem-cli[anthropic]'",
        hint="pip install 'gitmem-cli[anthropic]'; `gitmem memory-tool` works without it",
    ) from error

if TYPE_CHECKING:
    from anthropic import BaseModel
    from anthropic.lib.tools import BetaFunctionToolResultType
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

    from gitmem.api import Group

__all__ = ["GitMemoryTool"]


class GitMemoryTool(BetaAbstractMemoryTool):
    """A memory tool whose files are those of MEMORY, an open group; each change is one commit.

    OVERWRITE: create may replace a file. ALLOW_SHRINK: a change may remove most of one.
    """

    def __init__(
        self,
        memory: Group,
        *,
        overwrite: bool = False,
        allow_shrink: bool = False,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._commands = MemoryCommands(
            memory._group, overwrite=overwrite, allow_shrink=allow_shrink
        )

    def call(self, input: object) -> BetaFunctionToolResultType:
        """Do what the model asks for; the SDK has no answer for a command that there is not."""
        asked = input if isinstance(input, Mapping) else {}
        if asked.get("command") not in COMMANDS:
            return _said(self._commands.answer(asked))
        return super().call(input)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file or a folder."""
        return self._done(command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a new file."""
        return self._done(command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that stands in a file once."""
        return self._done(command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Add lines to a file."""
        return self._done(command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Move a file or a folder to the archive."""
        return self._done(command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a folder."""
        return self._done(command)

    def clear_all_memory(self) -> str:
        """Move all of memory to the archive, as one commit."""
        return _said(self._commands.clear())

    def _done(self, command: BaseModel) -> str:
        return _said(self._commands.answer(command.to_dict(warnings=False)))


def _said(answer: Answer) -> str:
    if answer.is_error:
        raise ToolError(answer.content)
    return answer.content
