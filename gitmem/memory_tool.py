"""Claude's memory tool on a group: for the tool runner of the Anthropic SDK.

    import anthropic
    import gitmem
    from gitmem.memory_tool import GitMemoryTool

    with gitmem.open("main", store="~/memory", agent="claude", create=True) as memory:
        runner = anthropic.Anthropic().beta.messages.tool_runner(
            model="...", max_tokens=4096, tools=[GitMemoryTool(memory)], messages=[...]
        )
        print(runner.until_done())

`AsyncGitMemoryTool` is the same for `AsyncAnthropic`. Both need the extra `anthropic`. Every other
program uses `gitmem memory-tool`, which does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

from gitmem.errors import ExtraMissing
from gitmem.integrations.memory_tool.commands import COMMANDS, Answer, MemoryCommands, reopened

try:
    from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
except ImportError as error:
    raise ExtraMissing(
        "gitmem.memory_tool needs the package anthropic, which is missing or too old: "
        "`pip install --upgrade anthropic`",
        hint="`pip install --upgrade anthropic`, or `pip install '.[anthropic]'` in the checkout "
        "of gitmem; the command memory-tool works without it",
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

    from gitmem.api.memory import Memory

__all__ = ["AsyncGitMemoryTool", "GitMemoryTool"]


class GitMemoryTool(BetaAbstractMemoryTool):
    """A memory tool whose files are those of MEMORY, an open group; each change is one commit.

    OVERWRITE: create may replace a file. ALLOW_SHRINK: a change may remove most of one.
    """

    def __init__(
        self,
        memory: Memory,
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


class AsyncGitMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for the asynchronous runner, under asyncio: it works in a thread of its own.

    The event loop goes on while a command waits for the lock or the disk. Commands of one tool are
    done in their order. One that is cancelled before it began is not done; one that began is
    finished first, so that nothing is at work when `call` ends, however it ends.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        overwrite: bool = False,
        allow_shrink: bool = False,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._group = memory._group
        self._overwrite, self._allow_shrink = overwrite, allow_shrink
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gitmem-memory-tool")

    async def call(self, input: object) -> BetaFunctionToolResultType:
        """Do what the model asks for; the SDK has no answer for a command that there is not."""
        asked = input if isinstance(input, Mapping) else {}
        if asked.get("command") not in COMMANDS:
            return _said(await self._answer(lambda commands: commands.answer(asked)))
        return await super().call(input)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file or a folder."""
        return await self._done(command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a new file."""
        return await self._done(command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that stands in a file once."""
        return await self._done(command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Add lines to a file."""
        return await self._done(command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Move a file or a folder to the archive."""
        return await self._done(command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a folder."""
        return await self._done(command)

    async def clear_all_memory(self) -> str:
        """Move all of memory to the archive, as one commit."""
        return _said(await self._answer(MemoryCommands.clear))

    async def _done(self, command: BaseModel) -> str:
        asked = command.to_dict(warnings=False)
        return _said(await self._answer(lambda commands: commands.answer(asked)))

    async def _answer(self, do: Callable[[MemoryCommands], Answer]) -> Answer:
        work = self._thread.submit(self._work, do)
        finished = asyncio.wrap_future(work)
        try:
            return await asyncio.shield(finished)
        except asyncio.CancelledError:
            work.cancel()  # if it waits for its turn; else it takes until the lock is given up
            while not finished.done():
                with suppress(asyncio.CancelledError, Exception):
                    await asyncio.shield(finished)
            raise

    def _work(self, do: Callable[[MemoryCommands], Answer]) -> Answer:
        with reopened(self._group) as group:
            return do(
                MemoryCommands(group, overwrite=self._overwrite, allow_shrink=self._allow_shrink)
            )


def _said(answer: Answer) -> str:
    if answer.is_error:
        raise ToolError(answer.content)
    return answer.content
