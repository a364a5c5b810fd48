"""Bulk functions in Ray Data. `pip install "emendate[ray]"`.

>>> from emendate import bulk
>>> from emendate.bulk import ray as on_ray
>>> rows = on_ray.map_batches(dataset, bulk.apply_many, columns=["ok", "after"])  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import ray.data

from emendate.bulk._engine import BatchFunction

__all__ = ["BulkActor", "map_batches"]


class BulkActor:
    """A bulk function in a worker process of Ray, for `Dataset.map_batches`."""

    def __init__(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        keep: bool | Sequence[str] = True,
        prefix: str = "",
    ) -> None:
        self._made = BatchFunction(function, options, keep, prefix)

    def __call__(self, batch: pa.Table) -> pa.Table:
        return self._made.table(batch)


def map_batches(
    dataset: ray.data.Dataset,
    function: Callable[..., Any],
    *,
    keep: bool | Sequence[str] = True,
    prefix: str = "",
    batch_size: int = 1024,
    actors: int | tuple[int, int] = 1,
    **options: Any,
) -> ray.data.Dataset:
    """Adds the columns of a bulk function to a dataset, in `actors` processes (or between a least and a largest number).

    `keep` are the columns of the dataset that stay, `prefix` is put in front of the names of new ones, and `options` are
    those of the function. A batch of a worker that dies is computed once more, with the same result.
    """
    least, most = (actors, actors) if isinstance(actors, int) else actors
    return dataset.map_batches(
        BulkActor,
        fn_constructor_kwargs={"function": function, "options": options, "keep": keep, "prefix": prefix},
        batch_format="pyarrow",
        batch_size=batch_size,
        zero_copy_batch=True,
        compute=ray.data.ActorPoolStrategy(min_size=least, max_size=most),
        udf_modifying_row_count=False,
    )
