"""Anthropic SDK: the text editor and the memory tool, for the tool runner. `pip install "emendate[anthropic]"`."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from anthropic.lib.tools import (
    BetaAbstractMemoryTool,
    BetaAsyncBuiltinFunctionTool,
    BetaBuiltinFunctionTool,
    BetaFunctionTool,
    ToolError,
    beta_tool,
)

from emendate.adapters._patches import FORMAT, Section, half_of_a_character, patch
from emendate.adapters._paths import shown_error, shown_reply
from emendate.adapters._questions import Approve, asked_and_answered
from emendate.adapters._views import view_window
from emendate.aio import AsyncSession
from emendate.errors import EmendError
from emendate.workspace import Reply, Session, Tool, Workspace

__all__ = ["AsyncTextEditor", "Memory", "TextEditor", "tools"]

_PROFILE = "anthropic"
_NAME = "str_replace_based_edit_tool"
_MEMORY = "/memories"
# The profile of the memory tool, and the tool.
_MEMORY_TOOL = "memory"


def _text(reply: Reply) -> str:
    if not reply.ok:
        raise ToolError(reply.text)
    return reply.text


def _editor_param(max_characters: int | None) -> Any:
    param: dict[str, Any] = {"type": "text_editor_20250728", "name": _NAME}
    if max_characters is not None:
        param["max_characters"] = max_characters
    return param


def _edited(
    session: Session, given: Mapping[str, Any], approve: Approve | None, max_characters: int | None
) -> str:
    """Runs a command. A view has at most about `max_characters`, as the model was told, and says how it goes on."""
    window = None if max_characters is None else view_window(session, given, max_characters)
    if window is None:
        return _text(asked_and_answered(session, _NAME, given, _PROFILE, approve))
    start, end, last = window
    # Only lines that are shown count as read.
    input = {**given, "view_range": [start, end]}
    text = _text(asked_and_answered(session, _NAME, input, _PROFILE, approve)).rstrip("\n")
    return (
        f"{text}\n\nLines {end + 1} to {last} are not shown: a view has at most {max_characters} characters. "
        f"Go on with view_range [{end + 1}, {last}].\n"
    )


class TextEditor(BetaBuiltinFunctionTool):
    """The text editor (`text_editor_20250728`) over the files of a session.

    A refused command raises `ToolError`, which the runner sends as a result with `is_error`. Where a rule asks for
    approval, `approve` is called with the question; without it, the model learns that a person has to be asked. With
    `max_characters`, which the request tells the model, a view of more characters ends earlier and says how to go on.
    """

    def __init__(self, session: Session, *, approve: Approve | None = None, max_characters: int | None = None) -> None:
        """Edits through a session."""
        self._session, self._approve, self._max_characters = session, approve, max_characters

    def to_dict(self) -> Any:
        """The tool's entry in a request."""
        return _editor_param(self._max_characters)

    def call(self, input: object) -> str:
        """Runs a command."""
        given = cast("Mapping[str, Any]", input)
        return _edited(self._session, given, self._approve, self._max_characters)


class AsyncTextEditor(BetaAsyncBuiltinFunctionTool):
    """`TextEditor` for the asynchronous runner. `approve` is not awaited, and runs in a thread."""

    def __init__(self, session: Session, *, approve: Approve | None = None, max_characters: int | None = None) -> None:
        """Edits through a session."""
        self._session, self._approve, self._max_characters = session, approve, max_characters

    def to_dict(self) -> Any:
        """The tool's entry in a request."""
        return _editor_param(self._max_characters)

    async def call(self, input: object) -> str:
        """Runs a command."""
        given = cast("Mapping[str, Any]", input)
        session = AsyncSession(self._session)
        return await session.run(_edited, given, self._approve, self._max_characters)


class Memory(BetaAbstractMemoryTool):
    """The memory tool (`memory_20250818`) over a workspace, whose first directory is `/memories`.

    `Memory(Workspace(memory={}))` keeps memories in this process; `Workspace("…/memories", state="…")` keeps them with
    their history. Every change can be undone through `session`.
    """

    def __init__(self, workspace: Workspace, *, session: str = "memory") -> None:
        """Keeps memories in a workspace."""
        super().__init__()
        root = workspace.roots[0]
        self._in_memory = root == "/"
        # In memory, the directory has the name that the model knows.
        self._root = _MEMORY if self._in_memory else root
        self.session = workspace.session(session, unread="allow")
        self._named = self.session._for_profile(_MEMORY_TOOL)  # pyright: ignore[reportPrivateUsage]

    def _path(self, path: str) -> str:
        """The path of a memory. Those that lead out of the workspace are refused by the engine."""
        if not _is_whole(path):
            raise ToolError(str(half_of_a_character()))
        if path != _MEMORY and not path.startswith(_MEMORY + "/") or ".." in path.split("/"):
            raise ToolError(f"Paths of memories begin with {_MEMORY} and stay below it. {path} does not.")
        names = path.split("/")
        if re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", path) or any(name != name.strip() for name in names):
            # A patch cannot name these: its reader drops blanks at the ends of a name, and ends it with the line.
            raise ToolError(f"Names of memories have no blanks at their ends and no control characters: {path!r}.")
        return self._root + path.removeprefix(_MEMORY).rstrip("/")

    def _edit(self, command: Any, **fields: Any) -> str:
        input = {"command": command.command, "path": self._path(command.path), **fields}
        return self._done(self.session.call(_MEMORY_TOOL, input, profile=_MEMORY_TOOL))

    def _done(self, reply: Reply) -> str:
        text = shown_reply(reply, self._root, _MEMORY)
        if not reply.ok:
            raise ToolError(text)
        return text

    def view(self, command: Any) -> str:
        """Shows a file with its lines numbered, or lists a directory."""
        if command.path.rstrip("/") == _MEMORY and not self._files(_MEMORY, required=False):
            return f"There are no memories in {_MEMORY}."
        lines = {"view_range": command.view_range} if command.view_range else {}
        return self._edit(command, **lines)

    def create(self, command: Any) -> str:
        """Creates a file; an existing one is not replaced."""
        return self._edit(command, file_text=command.file_text, overwrite=False)

    def str_replace(self, command: Any) -> str:
        """Replaces a text that occurs once."""
        return self._edit(command, old_str=command.old_str, new_str=command.new_str)

    def insert(self, command: Any) -> str:
        """Inserts lines behind a line."""
        return self._edit(command, insert_line=command.insert_line, insert_text=command.insert_text)

    def delete(self, command: Any) -> str:
        """Deletes a file, or a directory with its files."""
        self._patch(Section("Delete", file) for file in self._files(command.path))
        self._remove_empty(self._path(command.path))
        return f"Deleted {command.path}."

    def rename(self, command: Any) -> str:
        """Moves a file, or the files of a directory."""
        old, new = self._path(command.old_path), self._path(command.new_path)
        files = self._files(command.old_path)
        moved = {file: new + file.removeprefix(old) for file in files}
        for file in moved.values():
            if file not in moved and self.session.workspace.read_bytes(file) is not None:
                raise ToolError(f"There is a file at {_MEMORY}{file.removeprefix(self._root)}. Choose another name.")
        self._patch(Section("Update", file, to) for file, to in moved.items())
        self._remove_empty(old)
        return f"Renamed {command.old_path} to {command.new_path}."

    def clear_all_memory(self) -> str:
        """Deletes all files."""
        self._patch(Section("Delete", file) for file in self._files(_MEMORY, required=False))
        return "Deleted all memories."

    def _files(self, named: str, required: bool = True) -> list[str]:
        path = self._path(named)
        if required and path == self._root:
            raise ToolError(f"{_MEMORY} itself cannot be deleted or renamed.")
        listed = self.session.call("list", {"path": path, "hidden": True, "no_ignore": True, "limit": 100_000})
        if listed.ok:
            files = [f"{path}/{entry}" for entry in listed.data["entries"]]
        else:
            files = [path] if self.session.workspace.read_bytes(path) is not None else []
        if required and not files and not listed.ok:
            raise ToolError(f"There is nothing at {named}.")
        return files

    def _patch(self, sections: Iterable[Section]) -> None:
        rows = list(sections)
        if not rows:
            return
        try:
            self._named.apply(patch(rows), format=FORMAT)
        except EmendError as error:
            raise ToolError(shown_error(error, self._root, _MEMORY)) from None

    def _remove_empty(self, path: str) -> None:
        """Removes a directory, and those in it, as far as they are empty now; files are never removed so."""
        if self._in_memory or not os.path.realpath(path).startswith(os.path.join(self._root, "")):
            return
        for directory, _, _ in os.walk(path, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(directory)


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def tools(session: Session, profile: str = "default", *, approve: Approve | None = None) -> list[BetaFunctionTool[Any]]:
    """The tools of a profile as function tools of the runner."""
    return [_function_tool(session, tool, profile, approve) for tool in session.tools(profile)]


def _function_tool(session: Session, tool: Tool, profile: str, approve: Approve | None) -> BetaFunctionTool[Any]:
    def call(**input: Any) -> str:
        return _text(asked_and_answered(session, tool.name, input, profile, approve))

    wrap = cast(
        "Callable[[Callable[..., str]], BetaFunctionTool[Any]]",
        beta_tool(name=tool.name, description=tool.description, input_schema=cast("Any", tool.input_schema)),
    )
    return wrap(call)
