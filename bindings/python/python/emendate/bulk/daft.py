"""Bulk functions in Daft. `pip install "emendate[daft]"`.

>>> import daft
>>> from emendate import bulk
>>> from emendate.bulk import daft as on_daft
>>> frame = daft.from_pydict({"before": ["a"], "edit": ["?"]})
>>> on_daft.map_batches(frame, bulk.apply_many, columns=["code"]).to_pydict()["code"]
['edit.unparsable']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import daft
import pyarrow as pa

from emendate.bulk._engine import BatchFunction

__all__ = ["map_batches"]


def map_batches(
    frame: daft.DataFrame,
    function: Callable[..., Any],
    inputs: Sequence[str] = ("before", "edit"),
    *,
    keep: bool | Sequence[str] = True,
    prefix: str = "",
    batch_size: int = 4096,
    **options: Any,
) -> daft.DataFrame:
    """Adds the columns of a bulk function to a frame. `inputs` are the columns that it reads, `keep` those of the frame
    that stay, `prefix` is put in front of the names of new ones, and `options` are those of the function."""
    named = list(inputs)
    made = BatchFunction(function, options, False, prefix)
    schema = made.of_inputs(named)
    struct = daft.DataType.from_arrow_type(pa.struct(list(schema)))

    @daft.func.batch(return_dtype=struct, batch_size=batch_size, unnest=True)
    def emendate(*columns: daft.Series) -> pa.Array:
        batch = pa.record_batch([column.to_arrow() for column in columns], names=named)
        return made(batch).to_struct_array()

    kept = frame.column_names if keep is True else list(keep or ())
    return frame.select(*kept, emendate(*[frame[name] for name in named]))
