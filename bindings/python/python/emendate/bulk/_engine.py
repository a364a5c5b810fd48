"""The shared part of the modules for engines: a bulk function with its options, as a function of batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from emendate.bulk import files_column

BulkFunction = Callable[..., Any]
"""One of the functions of `emendate.bulk`."""

_FILES = pa.list_(pa.struct([("path", pa.string()), ("text", pa.string())]))

# Every engine has its own threads, each of which calls the function.
_ONE_THREAD = {"threads": 1}


class BatchFunction:
    """A bulk function with its options: a batch gives its result, after the columns of the batch that are kept."""

    def __init__(self, function: BulkFunction, options: dict[str, Any], keep: bool | Sequence[str], prefix: str) -> None:
        self._function, self._options = function, {**_ONE_THREAD, **options}
        self._keep, self._prefix = keep, prefix

    def schema(self, given: pa.Schema) -> pa.Schema:
        """The schema of results of batches with that schema. Raises `EmendError` if it lacks columns."""
        return self(pa.RecordBatch.from_pylist([], given)).schema

    def of_inputs(self, inputs: Sequence[str]) -> pa.Schema:
        """The schema of results of batches with these columns: texts, and for one that `apply_files_many` reads, files."""
        files = files_column(self._function, self._options)
        return self.schema(pa.schema([(name, _FILES if name == files else pa.string()) for name in inputs]))

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        made = pa.record_batch(self._function(batch, **self._options))
        kept = batch.schema.names if self._keep is True else list(self._keep or ())
        names = kept + [self._prefix + name for name in made.schema.names]
        if len(set(names)) < len(names):
            double = min(name for name in names if names.count(name) > 1)
            raise ValueError(f"there are two columns {double!r}: pass `prefix`, or `keep` fewer columns")
        return pa.record_batch([batch.column(name) for name in kept] + made.columns, names=names)

    def table(self, table: pa.Table) -> pa.Table:
        """`__call__` for a table, whose chunks may differ from column to column."""
        batches = [self(batch) for batch in table.to_batches()]
        return pa.Table.from_batches(batches, self.schema(table.schema))
