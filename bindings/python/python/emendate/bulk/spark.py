"""Bulk functions in Spark. `pip install "emendate[spark]"`.

>>> from emendate import bulk
>>> from emendate.bulk import spark as on_spark
>>> rows = on_spark.map_batches(frame, bulk.apply_many, columns=["ok", "after"])  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from emendate.bulk._engine import BatchFunction

__all__ = ["map_batches", "udf"]


def map_batches(
    frame: DataFrame,
    function: Callable[..., Any],
    *,
    keep: bool | Sequence[str] = True,
    prefix: str = "",
    **options: Any,
) -> DataFrame:
    """Adds the columns of a bulk function to a frame. `keep` are the columns of the frame that stay, `prefix` is put in
    front of the names of new ones, and `options` are those of the function.

    `spark.sql.execution.arrow.maxRecordsPerBatch` bounds the rows of a batch, and with them the memory of a worker.
    """
    made = BatchFunction(function, options, keep, prefix)

    def of_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield _for_spark(made(batch))

    return frame.mapInArrow(of_batches, _spark_schema(made.schema(to_arrow_schema(frame.schema))))


def udf(function: Callable[..., Any], inputs: Sequence[str] = ("before", "edit"), **options: Any) -> Callable[..., Any]:
    """A bulk function as an Arrow UDF: `inputs` name its arguments in their order, and it returns a struct."""
    named = list(inputs)
    made = BatchFunction(function, options, False, "")
    kind = _spark_schema(made.of_inputs(named))

    def of_columns(*columns: pa.Array) -> pa.Array:
        return _for_spark(made(pa.record_batch(list(columns), names=named))).to_struct_array()

    # Spark looks at the hints to find out how the function is called.
    of_columns.__annotations__ = {"columns": pa.Array, "return": pa.Array}
    return arrow_udf(of_columns, kind)


def _spark_type(kind: pa.DataType) -> pa.DataType:
    """Spark has no unsigned numbers: the next larger ones hold the same values."""
    if pa.types.is_uint32(kind) or pa.types.is_uint64(kind):
        return pa.int64()
    if pa.types.is_list(kind):
        return pa.list_(_spark_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _spark_type(field.type)) for field in kind])
    return kind


def _arrow_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(field.name, _spark_type(field.type)) for field in schema])


def _spark_schema(schema: pa.Schema) -> StructType:
    return from_arrow_schema(_arrow_schema(schema))


def _for_spark(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.cast(_arrow_schema(batch.schema))
