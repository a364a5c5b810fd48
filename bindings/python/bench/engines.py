"""Rows per second on the real engines, beside a function that only copies the column of texts. All in one run.

`python bench/engines.py` in `bindings/python` prints the table of docs/bulk-engines.md. Packages:
requirements-engines.txt, and Java 17 for Spark. EMEND_BULK_ROWS rows, by default 100,000.

Every engine may use two processors. The time is that of the second run of the same query, without the start of the engine.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import daft
import duckdb
import polars as pl
import pyarrow as pa
from emendate import bulk
from emendate.bulk import daft as on_daft
from emendate.bulk import duckdb as on_duckdb
from emendate.bulk import polars as on_polars

from tests_engines.rows import COUNT, INPUTS, parquet, table

OPTIONS: dict[str, Any] = {"columns": ["ok", "after"], "path": "path", "max_steps": 2_000_000}
Job = Callable[[Callable[..., Any]], Any]


def copied(batch: Any, **_: Any) -> pa.RecordBatch:
    """Stands in for a bulk function: it returns the column of texts."""
    before = pa.table(batch).column("before").combine_chunks().cast(pa.large_string())
    return pa.record_batch({"ok": pa.nulls(len(before), pa.bool_()), "after": before})


def alone(function: Callable[..., Any]) -> Any:
    return pa.table(function(table(), **OPTIONS))


def polars(function: Callable[..., Any]) -> Any:
    return on_polars.map_batches(pl.DataFrame(table()), function, INPUTS, keep=["n"], **OPTIONS)


def in_duckdb(function: Callable[..., Any]) -> Any:
    connection = duckdb.connect()
    rows = table()  # noqa: F841: DuckDB finds it by its name
    on_duckdb.register(connection, "emend", function, INPUTS, **OPTIONS)
    return pa.table(connection.sql("SELECT n, unnest(emend(before, edit, path)) FROM rows").arrow())


def in_daft(function: Callable[..., Any]) -> Any:
    return on_daft.map_batches(daft.from_arrow(table()), function, INPUTS, keep=["n"], **OPTIONS).to_arrow()


def in_ray(function: Callable[..., Any]) -> Any:
    import ray
    from emendate.bulk import ray as on_ray

    if not ray.is_initialized():
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        ray.data.DataContext.get_current().enable_progress_bars = False
    dataset = on_ray.map_batches(ray.data.from_arrow(table()), function, keep=["n"], actors=2, **OPTIONS)
    return ray.get(dataset.to_arrow_refs())


def in_spark(function: Callable[..., Any]) -> Any:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from emendate.bulk import spark as on_spark
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return on_spark.map_batches(session.read.parquet(parquet()), function, keep=["n"], **OPTIONS).toArrow()


JOBS: dict[str, Job] = {
    "no engine": alone,
    "Polars": polars,
    "DuckDB": in_duckdb,
    "Daft": in_daft,
    "Ray": in_ray,
    "Spark": in_spark,
}


def rate(job: Job, function: Callable[..., Any]) -> float:
    """Rows per second of the second run."""
    job(function)
    started = time.perf_counter()
    job(function)
    return COUNT / (time.perf_counter() - started)


def main() -> None:
    wanted = sys.argv[1:] or list(JOBS)
    print("| engine | rows per second | a function that copies the texts | share of the lower of both limits |")
    print("|---|---:|---:|---:|")
    local = rate(alone, bulk.apply_many)
    for name in wanted:
        ours = local if name == "no engine" else rate(JOBS[name], bulk.apply_many)
        copies = rate(JOBS[name], copied)
        print(f"| {name} | {ours:,.0f} | {copies:,.0f} | {ours / min(local, copies):.0%} |", flush=True)


if __name__ == "__main__":
    main()
