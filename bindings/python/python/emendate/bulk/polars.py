"""Bulk functions in Polars. `pip install "emendate[polars]"`.

>>> import polars as pl
>>> from emendate import bulk
>>> from emendate.bulk import polars as on_polars
>>> edit = "<<<<<<< SEARCH\\nb\\n=======\\nc\\n>>>>>>> REPLACE\\n"
>>> frame = pl.LazyFrame({"before": ["a\\nb\\n"], "edit": [edit]})
>>> on_polars.map_batches(frame, bulk.apply_many, columns=["ok", "after"]).collect()["after"].to_list()
['a\\nc\\n']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import polars as pl

from emendate.bulk import files_column

__all__ = ["expression", "map_batches"]

_FILES = pl.List(pl.Struct({"path": pl.String, "text": pl.String}))

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


def expression(function: Callable[..., Any], inputs: Sequence[str] = ("before", "edit"), **options: Any) -> pl.Expr:
    """A bulk function as an expression, which is a struct of its columns. `inputs` are the columns that it reads.

    The struct can be named by `.alias` and split by `.struct.unnest()`. All threads of the machine share a column;
    `threads=1` leaves them to Polars.
    """
    files = files_column(function, options)
    empty = pl.DataFrame(schema={name: _FILES if name == files else pl.String for name in inputs})
    schema = pl.DataFrame(function(empty, **options)).schema

    def of_column(column: pl.Series) -> pl.Series:
        return pl.DataFrame(function(column.struct.unnest(), **options)).to_struct(column.name)

    columns = pl.struct([pl.col(name) for name in inputs])
    return columns.map_batches(of_column, return_dtype=pl.Struct(schema), is_elementwise=True)


def map_batches(
    frame: Frame,
    function: Callable[..., Any],
    inputs: Sequence[str] = ("before", "edit"),
    *,
    keep: bool | Sequence[str] = True,
    prefix: str = "",
    **options: Any,
) -> Frame:
    """Adds the columns of a bulk function to a frame. `keep` are the columns of the frame that stay, `prefix` is put in
    front of the names of new ones, and `options` are those of the function."""
    made = expression(function, inputs, **options).alias("emendate").struct.unnest()
    kept = pl.all() if keep is True else pl.col(list(keep or ()))
    return frame.select(kept, made.name.prefix(prefix) if prefix else made)
