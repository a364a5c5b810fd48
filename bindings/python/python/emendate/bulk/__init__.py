"""Functions on many rows: Arrow in, Arrow out, on all processors.

A batch is any object with an Arrow capsule (`__arrow_c_array__` or `__arrow_c_stream__`): a batch or table of pyarrow,
Polars, DuckDB, Daft, nanoarrow or pandas. A batch gives a batch, and a stream a stream whose batches are made as they are
asked for; `pyarrow.record_batch(result)`, `pyarrow.table(result)` and `polars.DataFrame(result)` take them without a copy.

A row never raises: `ok` and `code` say what became of it, and a hostile one is bounded in work (`max_steps`) and bytes
(`max_bytes`). Results do not depend on the number of threads; 0 means one per processor. A mistake of the program, such as
the name of a column or a format that is not there, raises `errors.CallError` with `call.invalid`; an argument of another
Python type, such as a number in place of a name, raises `TypeError`.

Columns of results: `ok` (bool), `code` (string; null without an error), `after` (large string; null if nothing changed, or
on an error), `format`, `tier` (string), `edits`, `added`, `removed` (uint32), `spans` (list of `start`, `end`, `new_start`,
`new_end`, in bytes of UTF-8), `notes` (list of strings), `files`, `message`, `next`, `diff` (large string), `reward` (float64).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from emendate import _emendate

if TYPE_CHECKING:
    from emendate._arrow import ArrowArray, ArrowStream

__all__ = ["apply_files_many", "apply_many", "convert_many", "diff_many", "reward_many"]


def apply_many(
    batch: ArrowArray | ArrowStream,
    *,
    before: str = "before",
    edit: str = "edit",
    path: str | None = None,
    format: str | None = None,
    format_column: str | None = None,
    match: Literal["exact", "strict", "standard"] = "standard",
    columns: Sequence[str] | None = None,
    threads: int = 0,
    max_bytes: int | None = None,
    max_steps: int | None = None,
) -> Any:
    """Applies the edit of each row to its text, as `emendate.apply` does.

    `before`, `edit`, `path` and `format_column` name columns of the batch; `format` is the format of all rows that have
    none of their own. Usual columns: ok, code, after, format, tier, added, removed.
    """
    inputs = _names(before=before, edit=edit, path=path, format_column=format_column)
    return _emendate.apply_many(_checked(batch), inputs, format, match, columns, threads, max_bytes, max_steps)


def diff_many(
    batch: ArrowArray | ArrowStream,
    *,
    before: str = "before",
    after: str = "after",
    path: str | None = None,
    to: str | None = None,
    columns: Sequence[str] | None = None,
    threads: int = 0,
    max_steps: int | None = None,
) -> Any:
    """Compares the two texts of each row. `diff` is null for equal ones; `to` is one of `emendate.print_formats()`.

    Usual columns: ok, code, diff, added, removed.
    """
    inputs = _names(before=before, after=after, path=path)
    return _emendate.diff_many(_checked(batch), inputs, to, columns, threads, max_steps)


def convert_many(
    batch: ArrowArray | ArrowStream,
    to: str,
    *,
    before: str = "before",
    edit: str = "edit",
    path: str | None = None,
    format: str | None = None,
    format_column: str | None = None,
    match: Literal["exact", "strict", "standard"] = "standard",
    columns: Sequence[str] | None = None,
    threads: int = 0,
    max_steps: int | None = None,
) -> Any:
    """Prints the change that each row's edit makes in another format, as the column `diff`.

    Usual columns: ok, code, diff, format.
    """
    inputs = _names(before=before, edit=edit, path=path, format_column=format_column)
    return _emendate.convert_many(_checked(batch), inputs, to, format, match, columns, threads, max_steps)


def apply_files_many(
    batch: ArrowArray | ArrowStream,
    *,
    files: str = "files",
    edit: str = "edit",
    path: str | None = None,
    format: str | None = None,
    format_column: str | None = None,
    match: Literal["exact", "strict", "standard"] = "standard",
    columns: Sequence[str] | None = None,
    threads: int = 0,
    max_bytes: int | None = None,
    max_steps: int | None = None,
) -> Any:
    """Applies the edit of each row to its files, as `emendate.apply_files` does: all of them, or none.

    `files` names a column of lists of structs with a `path` and a `text`, or of maps from paths to texts. The column
    `files` of the result has the changed ones: `path`, `kind`, `from_path` and `text`, which is null for a deleted file.
    Usual columns: ok, code, files, format, tier, added, removed.
    """
    inputs = _names(files=files, edit=edit, path=path, format_column=format_column)
    return _emendate.apply_files_many(_checked(batch), inputs, format, match, columns, threads, max_bytes, max_steps)


def reward_many(
    batch: ArrowArray | ArrowStream,
    *,
    reward: Literal["exact", "applied", "similarity", "line_similarity", "parses"] = "exact",
    before: str = "before",
    edit: str = "edit",
    expected: str | None = "expected",
    path: str | None = None,
    tier_penalty: float | Mapping[str, float] = 0.0,
    format: str | None = None,
    format_column: str | None = None,
    match: Literal["exact", "strict", "standard"] = "standard",
    columns: Sequence[str] | None = None,
    threads: int = 0,
    max_steps: int | None = None,
) -> Any:
    """Rewards the edit of each row, from 0.0 to 1.0; an edit that cannot be applied has 0.0, and its `code` says why.

    `exact`: 1.0 for the expected text. `applied`: 1.0 for an edit that can be applied. `similarity`: the ratio of the text
    after the edit and the expected one, bit for bit that of `difflib.SequenceMatcher(autojunk=False)`;
    `line_similarity`: the same for lines. `parses`: 1.0 for a text without syntax errors; null if `path` does not tell a
    language that is known. A row without `before`, or without `expected` where the measure compares with it, has null and
    a `code`. `tier_penalty` is subtracted if a tolerance was needed; a mapping has a penalty per tier.
    Usual columns: reward, ok, code, tier.
    """
    inputs = _names(before=before, edit=edit, path=path, format_column=format_column, expected=expected)
    rule = reward_rule(reward, tier_penalty)
    return _emendate.reward_many(_checked(batch), inputs, rule, format, match, columns, threads, max_steps)


def reward_rule(measure: str, tier_penalty: float | Mapping[str, float]) -> tuple[str, float, dict[str, float]]:
    """A measure, the penalty of tolerances, and penalties by tier, as the native part takes them."""
    if isinstance(tier_penalty, Mapping):
        return measure, 0.0, dict(tier_penalty)
    return measure, tier_penalty, {}


def files_column(function: Any, options: Mapping[str, Any]) -> str | None:
    """The input of a function that has files in place of texts, for the modules for engines."""
    return options.get("files", "files") if function is apply_files_many else None


def _checked(batch: Any) -> Any:
    """A stream of pyarrow, whose batches are compared with its schema: pyarrow does not, and a reader of the interface
    has to trust it."""
    pyarrow: Any = sys.modules.get("pyarrow")
    if pyarrow is None or not isinstance(batch, pyarrow.RecordBatchReader):
        return batch
    schema: Any = batch.schema
    announced = _layout(schema)

    def batches() -> Iterator[Any]:
        for number, read in enumerate(batch, 1):
            if (found := _layout(read.schema)) != announced:
                raise ValueError(f"batch {number} has the columns {found}, and the stream announced {announced}")
            yield read

    return pyarrow.RecordBatchReader.from_batches(schema, batches())


def _layout(schema: Any) -> str:
    """The names and types of columns."""
    return ", ".join(f"{column.name}: {column.type}".replace(" not null", "") for column in schema)


def _names(**columns: object) -> list[str | None]:
    """The names of the columns of the inputs, each given as its argument."""
    names: list[str | None] = []
    for argument, name in columns.items():
        if not (name is None or isinstance(name, str)):
            raise TypeError(f"`{argument}` is {name!r}, and not the name of a column")
        names.append(name)
    return names
