from collections.abc import Sequence
from typing import Any, Final, Literal, final

from emendate._arrow import ArrowArray, ArrowStream

__all__ = [
    "Applied",
    "AppliedFiles",
    "ChangedFile",
    "ChangedSpan",
    "PatchText",
    "TextDiff",
    "__version__",
    "apply",
    "apply_files",
    "apply_many",
    "convert",
    "convert_many",
    "diff",
    "diff_many",
    "edit",
    "print_formats",
    "reward_many",
    "similarity",
    "text_formats",
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
def reward_many(
    batch: ArrowArray | ArrowStream,
    inputs: list[str | None],
    reward: str,
    tier_penalty: float,
    format: str | None,
    match: _Match,
    columns: Sequence[str] | None,
    threads: int,
    max_steps: int | None,
) -> Any: ...
