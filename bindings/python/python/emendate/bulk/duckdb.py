"""Bulk functions in DuckDB. `pip install "emendate[duckdb]"`.

>>> import duckdb
>>> from emendate import bulk
>>> from emendate.bulk import duckdb as on_duckdb
>>> connection = duckdb.connect()
>>> on_duckdb.register(connection, "emend_apply", bulk.apply_many, columns=["ok", "code"])
>>> connection.sql("SELECT emend_apply('a', '?').code").fetchall()
[('edit.unparsable',)]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from emendate.bulk import files_column
from emendate.bulk._engine import BatchFunction

__all__ = ["register"]

_FILES = "STRUCT(path VARCHAR, text VARCHAR)[]"
_TYPES = {
    "bool": "BOOLEAN",
    "string": "VARCHAR",
    "large_string": "VARCHAR",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "double": "DOUBLE",
}


def register(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    function: Callable[..., Any],
    inputs: Sequence[str] = ("before", "edit"),
    **options: Any,
) -> None:
    """Makes a bulk function a function of SQL: `inputs` are its arguments in their order, and it returns a struct.

    Arguments are texts; the files of `apply_files_many` are a `STRUCT(path VARCHAR, text VARCHAR)[]`.

    It is called with null arguments as well, for which the result has a code. Batches have 2,048 rows. DuckDB has a
    thread for every 122,880 rows of a table, so all threads of the machine share a batch; `threads=1` leaves them to it.
    """
    named = list(inputs)
    made = BatchFunction(function, {"threads": 0, **options}, False, "")

    def of_columns(*columns: pa.ChunkedArray) -> pa.Array:
        batch = pa.record_batch([_whole(column) for column in columns], names=named)
        return made(batch).to_struct_array()

    fields = made.of_inputs(named)
    struct = duckdb.struct_type({field.name: duckdb.sqltype(_type(field.type)) for field in fields})
    # Its arguments must be named, one by one.
    arguments = ", ".join(f"a{nth}" for nth in range(len(named)))
    callable = eval(f"lambda {arguments}: of_columns({arguments})", {"of_columns": of_columns})
    files = files_column(function, options)
    kinds = [_FILES if column == files else "VARCHAR" for column in named]
    connection.create_function(name, callable, kinds, struct, type="arrow", null_handling="special", side_effects=False)


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return _type(kind.value_type) + "[]"
    if pa.types.is_struct(kind):
        return "STRUCT(" + ", ".join(f'"{field.name}" {_type(field.type)}' for field in kind) + ")"
    return _TYPES[str(kind)]
