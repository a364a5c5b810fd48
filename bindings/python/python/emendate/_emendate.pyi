import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, final

from emendate._arrow import ArrowArray, ArrowStream
from emendate.errors import EmendError

__all__ = [
    "Applied",
    "AppliedFiles",
    "ChangeOutcome",
    "ChangedFile",
    "ChangedSpan",
    "EditPlacement",
    "FileChangeOutcome",
    "NativeHandle",
    "NativeSession",
    "NativeWorkspace",
    "PatchText",
    "ReadOutcome",
    "TextDiff",
    "UndoOutcome",
    "__version__",
    "apply",
    "apply_files",
    "apply_files_many",
    "apply_many",
    "convert",
    "convert_many",
    "diff",
    "diff_many",
    "edit",
    "function_parameters",
    "named_files",
    "print_formats",
    "profile_rows",
    "reward_many",
    "reward_row",
    "similarity",
    "text_formats",
    "tool_rows",
]

_Match = Literal["exact", "strict", "standard"]
_Tier = Literal[
    "exact", "punctuation", "trailing_blanks", "lines_alike", "indent_shift", "indent_widths", "blank_runs",
    "blank_edges", "line_numbers", "escapes", "elision", "drift", "block",
]

__version__: Final[str]

@final
class ChangedSpan:
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def new_start(self) -> int: ...
    @property
    def new_end(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Applied:
    @property
    def text(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def tier(self) -> _Tier: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def spans(self) -> list[ChangedSpan]: ...
    @property
    def edits(self) -> int: ...
    @property
    def places(self) -> int: ...
    @property
    def added(self) -> int: ...
    @property
    def removed(self) -> int: ...
    @property
    def new_path(self) -> str | None: ...

@final
class ChangedFile:
    @property
    def kind(self) -> Literal["created", "updated", "deleted", "renamed", "copied"]: ...
    @property
    def from_path(self) -> str | None: ...
    @property
    def text(self) -> str | None: ...
    @property
    def tier(self) -> _Tier: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def spans(self) -> list[ChangedSpan]: ...
    @property
    def edits(self) -> int: ...
    @property
    def places(self) -> int: ...
    @property
    def added(self) -> int: ...
    @property
    def removed(self) -> int: ...
    @property
    def executable(self) -> bool | None: ...

@final
class AppliedFiles:
    @property
    def format(self) -> str: ...
    @property
    def files(self) -> dict[str, ChangedFile]: ...
    @property
    def notes(self) -> list[str]: ...
    def after(self, files: dict[str, str]) -> dict[str, str]: ...

@final
class TextDiff:
    @property
    def spans(self) -> list[ChangedSpan]: ...
    @property
    def added(self) -> int: ...
    @property
    def removed(self) -> int: ...
    def unified(self, path: str) -> str: ...
    def to_patch(self, path: str, format: str) -> str: ...
    def __bool__(self) -> bool: ...

@final
class PatchText:
    @property
    def text(self) -> str: ...
    @property
    def from_format(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...

def apply(
    text: str,
    patch: str,
    *,
    format: str | None = None,
    path: str | None = None,
    match: _Match = "standard",
    strip: int | None = None,
    reverse: bool = False,
    placeholders_meant: bool = False,
    max_bytes: int | None = None,
    max_steps: int | None = None,
) -> Applied: ...
def apply_files(
    files: dict[str, str],
    patch: str,
    *,
    format: str | None = None,
    path: str | None = None,
    match: _Match = "standard",
    strip: int | None = None,
    reverse: bool = False,
    overwrite: bool = False,
    placeholders_meant: bool = False,
    max_bytes: int | None = None,
    max_steps: int | None = None,
) -> AppliedFiles: ...
def edit(
    text: str,
    old: str,
    new: str,
    *,
    replace_all: bool = False,
    path: str | None = None,
    match: _Match = "standard",
    placeholders_meant: bool = False,
    max_bytes: int | None = None,
    max_steps: int | None = None,
) -> Applied: ...
def diff(before: str, after: str) -> TextDiff: ...
def convert(
    files: dict[str, str],
    patch: str,
    to: str,
    *,
    format: str | None = None,
    path: str | None = None,
    match: _Match = "standard",
    strip: int | None = None,
    max_bytes: int | None = None,
    max_steps: int | None = None,
) -> PatchText: ...
def function_parameters() -> list[tuple[str, str]]: ...
def named_files(patch: str, format: str) -> set[str]: ...
def similarity(a: str, b: str, *, by: Literal["characters", "lines"] = "characters") -> float: ...
def text_formats() -> list[str]: ...
def print_formats() -> list[str]: ...

def apply_many(
    batch: ArrowArray | ArrowStream,
    inputs: list[str | None],
    format: str | None,
    match: _Match,
    columns: Sequence[str] | None,
    threads: int,
    max_bytes: int | None,
    max_steps: int | None,
) -> Any: ...
def diff_many(
    batch: ArrowArray | ArrowStream,
    inputs: list[str | None],
    to: str | None,
    columns: Sequence[str] | None,
    threads: int,
    max_steps: int | None,
) -> Any: ...
def convert_many(
    batch: ArrowArray | ArrowStream,
    inputs: list[str | None],
    to: str,
    format: str | None,
    match: _Match,
    columns: Sequence[str] | None,
    threads: int,
    max_steps: int | None,
) -> Any: ...
def apply_files_many(
    batch: ArrowArray | ArrowStream,
    inputs: list[str | None],
    format: str | None,
    match: _Match,
    columns: Sequence[str] | None,
    threads: int,
    max_bytes: int | None,
    max_steps: int | None,
) -> Any: ...
def reward_many(
    batch: ArrowArray | ArrowStream,
    inputs: list[str | None],
    rule: tuple[str, float, dict[str, float]],
    format: str | None,
    match: _Match,
    columns: Sequence[str] | None,
    threads: int,
    max_steps: int | None,
) -> Any: ...
def reward_row(
    texts: tuple[str, str, str | None, str | None],
    rule: tuple[str, float, dict[str, float]],
    format: str | None,
    match: _Match,
    max_steps: int | None,
) -> tuple[float | None, str | None, _Tier | None]: ...

@final
class ReadOutcome:
    @property
    def path(self) -> Path: ...
    @property
    def text(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def total_lines(self) -> int: ...
    @property
    def tag(self) -> str: ...
    @property
    def is_complete(self) -> bool: ...
    @property
    def notes(self) -> list[str]: ...

@final
class EditPlacement:
    @property
    def edit(self) -> int: ...
    @property
    def tier(self) -> _Tier: ...
    @property
    def places(self) -> int: ...
    @property
    def notes(self) -> list[str]: ...

@final
class FileChangeOutcome:
    @property
    def path(self) -> Path: ...
    @property
    def kind(self) -> Literal["created", "updated", "unchanged", "deleted", "moved", "copied", "linked"]: ...
    @property
    def from_path(self) -> Path | None: ...
    @property
    def tier(self) -> _Tier: ...
    @property
    def edits(self) -> tuple[EditPlacement, ...]: ...
    @property
    def spans(self) -> list[ChangedSpan]: ...
    @property
    def added(self) -> int: ...
    @property
    def removed(self) -> int: ...
    @property
    def merged(self) -> bool: ...
    @property
    def has_conflict_markers(self) -> bool: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def failed(self) -> tuple[EmendError, ...]: ...
    @property
    def tag(self) -> str | None: ...
    @property
    def diff(self) -> str | None: ...

@final
class ChangeOutcome:
    @property
    def operation(self) -> str | None: ...
    @property
    def format(self) -> str: ...
    @property
    def files(self) -> tuple[FileChangeOutcome, ...]: ...
    @property
    def tier(self) -> _Tier: ...
    @property
    def places(self) -> int: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def rejected(self) -> str: ...
    @property
    def dry_run(self) -> bool: ...
    @property
    def diff(self) -> str: ...

@final
class UndoOutcome:
    @property
    def undone(self) -> list[str]: ...
    @property
    def change(self) -> ChangeOutcome: ...

_Path = str | os.PathLike[str]

@final
class NativeHandle:
    def __new__(cls) -> NativeHandle: ...
    def stop(self) -> None: ...

@final
class NativeWorkspace:
    def __new__(
        cls,
        roots: Sequence[_Path],
        memory: Sequence[tuple[_Path, bytes]] | None,
        state: _Path | None,
        config: str | None,
    ) -> NativeWorkspace: ...
    def roots(self) -> list[Path]: ...
    def notices(self) -> list[str]: ...
    def read_bytes(self, path: _Path) -> bytes | None: ...
    def files(self) -> list[tuple[Path, bytes]]: ...
    def session(self, rules: Mapping[str, object]) -> NativeSession: ...
    def finish(self) -> None: ...

@final
class NativeSession:
    def name(self) -> str: ...
    def directory(self) -> Path | None: ...
    def with_handle(self, handle: NativeHandle) -> NativeSession: ...
    def with_dry_run(self) -> NativeSession: ...
    def with_approval(self, seal: str, agreed: bool, texts: Sequence[tuple[_Path, str]]) -> NativeSession: ...
    def read(self, path: _Path, start: int | None, end: int | None, encoding: str | None) -> ReadOutcome: ...
    def edit(
        self, path: _Path, edits: Sequence[Mapping[str, object]], options: Mapping[str, object]
    ) -> ChangeOutcome: ...
    def write(self, path: _Path, text: str, create_new: bool, options: Mapping[str, object]) -> ChangeOutcome: ...
    def apply(self, text: str, rules: Mapping[str, object], options: Mapping[str, object]) -> ChangeOutcome: ...
    def undo(self, rules: Mapping[str, object]) -> UndoOutcome: ...
    def call(
        self, tool: str, input: str, profile: str | None
    ) -> tuple[bool, str, str, EmendError | None]: ...

def profile_rows() -> list[tuple[str, str, str]]: ...
def tool_rows(profile: str) -> list[tuple[str, str, str, str, list[bool]]]: ...
