"""Files: workspaces, their sessions, and the tools that a model calls.

Every call releases the lock of the interpreter, and raises `EmendError` with the next call that works. Paths are absolute,
or relative to the first directory of the workspace (`/` in memory). Numbers of lines begin at 1 and include both ends.

>>> from emendate import Workspace
>>> workspace = Workspace(memory={"a.py": "x = 1\\n"})
>>> session = workspace.session("agent-1")
>>> session.read("a.py").text
'x = 1\\n'
>>> session.edit("a.py", "x = 1", "x = 2").files[0].added
1
>>> workspace.read_text("a.py")
'x = 2\\n'
"""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from emendate import _emendate
from emendate._emendate import ChangeOutcome, NativeHandle, NativeSession, NativeWorkspace, ReadOutcome, UndoOutcome
from emendate.errors import error_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from emendate.errors import EmendError

    _Unread = Literal["deny", "allow"]
    _OnStale = Literal["merge", "reject", "markers", "ask"]

__all__ = ["ChangeOptions", "Reply", "Session", "TextEdit", "Tool", "Workspace", "instructions", "profiles"]

Path = str | os.PathLike[str]


class ChangeOptions(TypedDict, total=False):
    """Options of every call that changes files."""

    tag: str
    """The version that the edit is based on, as a read or a change returned it (default: the last one seen)."""
    encoding: str
    """The encoding of the file, if it is neither UTF-8 nor marked."""
    on_stale: _OnStale
    """Reaction to a file that changed since it was read (default: the session's)."""
    match: Literal["exact", "strict", "standard"]
    """The tolerance of matching (default: that of the settings)."""
    dry_run: bool
    """Plan everything, write nothing."""
    partial: bool
    """Apply the edits that can be applied, and report the others in `failed` and `rejected`."""
    allow_invalid: bool
    """Allow the edit to make JSON, TOML or YAML invalid."""
    irreversible: bool
    """Write even what cannot be undone afterwards."""
    repeat: bool
    """Apply the edit once more although its result is in place already."""
    diff: bool
    """Return the change of each file as a unified diff."""


_OPTIONS: dict[str, Any] = {
    "tag": None,
    "encoding": None,
    "on_stale": None,
    "match": None,
    "dry_run": False,
    "partial": False,
    "allow_invalid": False,
    "irreversible": False,
    "repeat": False,
    "diff": False,
}


def _options(given: ChangeOptions) -> dict[str, Any]:
    unknown = given.keys() - _OPTIONS.keys()
    if unknown:
        raise TypeError(f"unexpected keyword argument {min(unknown)!r}")
    return {**_OPTIONS, **given}


@dataclass(frozen=True)
class TextEdit:
    """One replacement of `Session.multi_edit`."""

    old: str
    """The text to replace, without line numbers. Empty only to fill a blank file."""
    new: str
    """The text in its place. Empty deletes."""
    replace_all: bool = False
    """Replace every occurrence. Otherwise `old` must occur exactly once."""
    expected: int | None = None
    """Replace exactly that many occurrences."""
    at: str | None = None
    """The id of one of several candidates, as an error listed it."""
    line: int | None = None
    """The line near which the text is expected; decides between equal candidates only."""


def _text_edit(given: object) -> TextEdit:
    """An edit. The keys of a `dict` and the characters of a string are not taken for an old and a new text."""
    if isinstance(given, TextEdit):
        return given
    if isinstance(given, (tuple, list)):
        return TextEdit(*cast("tuple[str, str]", given))
    kind = type(given).__name__
    hint = "; write `TextEdit(old=…, new=…)`" if isinstance(given, Mapping) else ""
    raise TypeError(f"an edit is a `TextEdit` or a pair of an old and a new text, and not a `{kind}`{hint}")


@dataclass(frozen=True)
class Reply:
    """The reply to the call of a tool: text for a model, and data for programs."""

    ok: bool
    """True if the call succeeded."""
    text: str
    """The text for the model: the result, or the error with evidence and the next call."""
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    """Facts for programs; docs/replies.md lists them. Of a failure, see `error.data`."""
    error: EmendError | None = None
    """The error as an exception, which is not raised."""
    question: dict[str, Any] | None = None
    """The question to a person that the call ended with: `seal`, and `files` with the change of each."""

    @property
    def code(self) -> str | None:
        """The code of the error."""
        return self.error.code if self.error else None

    @property
    def retryable(self) -> bool:
        """True if the same call can succeed later: at once, or after reading the file again."""
        return bool(self.error and self.error.retryable)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Tool:
    """A tool as a profile offers it, for the constructor of any SDK. Calling it returns the text for the model."""

    name: str
    title: str
    """A name for people."""
    description: str
    """The description for a model."""
    input_schema: dict[str, Any]
    """The JSON schema of the input."""
    read_only: bool
    """It changes no file."""
    destructive: bool
    """It may remove or replace text."""
    idempotent: bool
    """A repeated call changes nothing more."""
    call: Callable[[Mapping[str, Any] | str], Reply] = field(repr=False)
    """Calls the tool with its input, as an object or as JSON. Never raises for what a model sent."""

    def __call__(self, /, **arguments: Any) -> str:
        return self.call(arguments).text


class Workspace:
    """Files below directories, or in memory, for any number of sessions. Threads may share it."""

    def __init__(
        self,
        *roots: Path,
        memory: Mapping[str, str | bytes] | None = None,
        state: Path | None = None,
        config: str | None = None,
    ) -> None:
        """Opens directories, or with `memory` texts by path instead; the `Mapping` is copied.

        `state` is the directory of the history, for undo in later processes (default: in memory). `config` is the text
        of an `emend.toml`, to which the settings of the project are added.

        Raises `EmendError`: `path.*` for a root that is not a directory, `call.invalid` for wrong settings.
        """
        if memory is not None and (roots or state is not None):
            raise TypeError("a workspace in memory has no directories")
        texts = None
        if memory is not None:
            texts = [(path, text.encode() if isinstance(text, str) else text) for path, text in memory.items()]
        self._native = NativeWorkspace([os.fspath(root) for root in roots], texts, state, config)
        # Also at the end of the process: what the history still has to store.
        self._finish = weakref.finalize(self, self._native.finish)

    @property
    def roots(self) -> list[str]:
        """The directories that can be accessed, without links."""
        return [os.fspath(root) for root in self._native.roots()]

    def notices(self) -> list[str]:
        """Messages for a person, such as settings without effect. Each is returned once."""
        return self._native.notices()

    def read_bytes(self, path: Path) -> bytes | None:
        """Returns the content of a file without recording it as read; `None` if there is none.

        Raises `EmendError`: `path.*`, `access.denied`, `io.*`.
        """
        return self._native.read_bytes(path)

    def read_text(self, path: Path) -> str | None:
        """Returns the content of a file in UTF-8 without recording it as read; `None` if there is none."""
        content = self.read_bytes(path)
        return None if content is None else content.decode()

    def files(self) -> dict[str, bytes]:
        """The files of a workspace in memory, by absolute path; empty for any other."""
        return {os.fspath(path): content for path, content in self._native.files()}

    def session(
        self,
        name: str | None = None,
        *,
        unread: _Unread = "deny",
        on_stale: _OnStale | None = None,
        dry_run: bool = False,
        directory: Path | None = None,
        irreversible: bool | None = None,
    ) -> Session:
        """Returns the session of that name (default: a new one).

        With `unread="deny"` it may edit only lines that it has read. `directory` is the absolute directory at which
        relative names begin (default: the first root). `irreversible` allows changes that cannot be undone (default:
        only with `unread="allow"`).
        """
        rules = {
            "name": name,
            "unread": unread,
            "on_stale": on_stale,
            "dry_run": dry_run,
            "directory": directory,
            "irreversible": irreversible,
        }
        return Session(self, self._native.session(rules))

    def __repr__(self) -> str:
        return f"Workspace({', '.join(map(repr, self.roots))})"


class Session:
    """Calls of one agent. Its reads decide what it may edit, and its changes are what `undo` takes back."""

    def __init__(self, workspace: Workspace, native: NativeSession) -> None:
        """Sessions come from `Workspace.session`."""
        self._workspace = workspace
        self._native = native

    @property
    def workspace(self) -> Workspace:
        """The workspace."""
        return self._workspace

    @property
    def name(self) -> str:
        """The name."""
        return self._native.name()

    @property
    def directory(self) -> str | None:
        """The absolute directory at which relative names begin, if it was given."""
        directory = self._native.directory()
        return None if directory is None else os.fspath(directory)

    def approved(self, seal: str, texts: Mapping[Path, str] | None = None) -> Session:
        """Returns this session with a person's approval of the question with that `seal`, for the same call again.

        `texts` are what the person wants to be written instead, by absolute path. If the change is not the one that the
        person saw, the call asks again.
        """
        return Session(self._workspace, self._native.with_approval(seal, True, list((texts or {}).items())))

    def denied(self, seal: str) -> Session:
        """Returns this session with a person's refusal of the question with that `seal`, for the same call again."""
        return Session(self._workspace, self._native.with_approval(seal, False, []))

    def planning(self) -> Session:
        """Returns this session with every call planned only; nothing is written."""
        return Session(self._workspace, self._native.with_dry_run())

    def _for_profile(self, profile: str) -> Session:
        """Returns this session with errors that name the tools of a profile, which a model calls through an adapter."""
        return Session(self._workspace, self._native.with_profile(profile))

    def _with_handle(self, handle: NativeHandle) -> Session:
        return Session(self._workspace, self._native.with_handle(handle))

    def read(
        self, path: Path, start: int | None = None, end: int | None = None, *, encoding: str | None = None
    ) -> ReadOutcome:
        """Reads a file, or its lines from `start` to `end`; they count as read.

        Raises `EmendError`: `path.*`, `access.denied`, `content.binary`, `read.range`, `file.too_large`.
        """
        return self._native.read(path, start, end, encoding)

    def _text(self, path: Path) -> str | None:
        """Returns the decoded text of a file, with `\\n` line ends, without recording it as read; `None` if there is none.

        Raises `EmendError`, also for a file that is not a text.
        """
        return self._native.text(path)

    def edit(
        self, path: Path, old: str, new: str, *, replace_all: bool = False, **options: Unpack[ChangeOptions]
    ) -> ChangeOutcome:
        """Replaces `old`, which must occur exactly once, by `new`; with `replace_all`, every occurrence.

        Raises `EmendError`: `match.not_found`, `match.ambiguous`, `edit.*`, `read.required`, `stale.*`, `path.*`,
        `access.*`.
        """
        return self.multi_edit(path, [TextEdit(old, new, replace_all)], **options)

    def multi_edit(
        self, path: Path, edits: Sequence[TextEdit | tuple[str, str]], **options: Unpack[ChangeOptions]
    ) -> ChangeOutcome:
        """Makes all edits, or none. They apply to the same text, unless one needs the result of an earlier one.

        Raises `EmendError`: as `edit`; `TypeError` for an edit that is neither a `TextEdit` nor a pair.
        """
        if not edits:
            raise ValueError("`edits` is empty")
        rows = [vars(_text_edit(edit)) for edit in edits]
        return self._native.edit(path, rows, _options(options))

    def write(
        self, path: Path, text: str, *, create_new: bool = False, **options: Unpack[ChangeOptions]
    ) -> ChangeOutcome:
        """Writes the whole text of a file, and creates it if there is none; with `create_new`, only then.

        Raises `EmendError`: `read.required` for a file that the session has not read completely; `stale.*`, `path.*`,
        `access.*`.
        """
        return self._native.write(path, text, create_new, _options(options))

    def apply(
        self,
        text: str,
        *,
        format: str | None = None,
        directory: str | None = None,
        file: str | None = None,
        strip: int | None = None,
        reverse: bool = False,
        overwrite: bool = False,
        **options: Unpack[ChangeOptions],
    ) -> ChangeOutcome:
        """Applies edits as a model wrote them, in any text format, to any number of files: all or nothing.

        `format` is one of `text_formats()` (default: detected). `file` is the file that the text is about, if it names
        none; `directory` the absolute directory at which its names begin. `strip` is the number of leading directories
        to remove from names. With `overwrite`, created and moved files may replace existing ones.

        Raises `EmendError`: `edit.unparsable` for a text in no format; and as `edit`.
        """
        rules = {
            "format": format,
            "directory": directory,
            "file": file,
            "strip": strip,
            "reverse": reverse,
            "overwrite": overwrite,
        }
        return self._native.apply(text, rules, _options(options))

    def undo(
        self,
        operation: str | None = None,
        *,
        last: int | None = None,
        path: Path | None = None,
        redo: bool = False,
        any_session: bool = False,
        dry_run: bool = False,
        irreversible: bool = False,
        diff: bool = False,
    ) -> UndoOutcome:
        """Undoes the last operation of this session; or `operation`, the `last` ones, or the last one of `path`.

        With `redo`, the last undo is undone. With `any_session`, operations of others count as well.

        Raises `EmendError`: `operation.not_found`, `operation.conflict` and others; `call.invalid` for contradictory
        options.
        """
        rules = {
            "operation": operation,
            "last": last,
            "path": path,
            "redo": redo,
            "any_session": any_session,
            "dry_run": dry_run,
            "irreversible": irreversible,
            "diff": diff,
        }
        return self._native.undo(rules)

    def call(self, tool: str, input: Mapping[str, Any] | str, *, profile: str | None = None) -> Reply:
        """Calls a tool as a model does. `input` is an object or its JSON; docs/tools.md lists tools and fields.

        With `profile`, the tools and their names are those of the profile, and there are no others. Never raises for what
        a model sent: the reply has the error.

        Raises `EmendError` with `call.invalid` for a name that no profile has.
        """
        try:
            given = input if isinstance(input, str) else json.dumps(input, default=_plain)
        except RecursionError:
            return _too_deep()
        try:
            made = self._native.call(tool, given, profile)
        except UnicodeEncodeError:
            # Half of a character. The reply to its escape in JSON says so.
            made = self._native.call(_escaped(tool), _escaped(given), profile)
        ok, text, data, error = made
        facts = json.loads(data)
        if ok:
            return Reply(True, text, facts)
        return Reply(False, text, {}, error, facts)

    def tools(self, profile: str = "default") -> list[Tool]:
        """The tools of a profile, bound to this session. `profiles()` lists the profiles.

        Raises `EmendError` with `call.invalid` for a name that no profile has.
        """
        return [self._tool(profile, row) for row in _emendate.tool_rows(profile)]

    def _tool(self, profile: str, row: tuple[str, str, str, str, Sequence[bool]]) -> Tool:
        name, title, description, schema, (read_only, destructive, idempotent) = row

        def call(input: Mapping[str, Any] | str) -> Reply:
            return self.call(name, input, profile=profile)

        parsed = cast("dict[str, Any]", json.loads(schema))
        return Tool(name, title, description, parsed, read_only, destructive, idempotent, call)

    def __repr__(self) -> str:
        return f"Session({self.name!r})"


def _plain(value: object) -> dict[Any, Any]:
    """A mapping that JSON does not know, as a `dict`."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[Any, Any]", value))
    raise TypeError(f"a `{type(value).__name__}` is no value of JSON")


def _too_deep() -> Reply:
    """The reply to an input that is nested too deeply to become JSON."""
    error = error_of("call.invalid", "The input is nested too deeply.", "", "Send the fields that the tool has.", "{}")
    return Reply(False, str(error), {}, error)


def _escaped(text: str) -> str:
    """A text with escapes in place of lone surrogates."""
    return text.encode(errors="backslashreplace").decode()


def profiles() -> dict[str, str]:
    """The profiles: sets of tools for one kind of client, and what each is for."""
    return {name: summary for name, summary, _ in _emendate.profile_rows()}


def instructions(profile: str = "default") -> str:
    """The instructions of a profile for a model, in at most 512 characters.

    Raises `KeyError` for a name that no profile has.
    """
    return {name: text for name, _, text in _emendate.profile_rows()}[profile]
