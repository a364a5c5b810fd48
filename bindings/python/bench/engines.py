"""Rows per second on the real engines, beside a function that only copies the column of texts. All in one run.

`python bench/engines.py` in `bindings/python` prints the table of docs/bulk-engines.md. Packages:
requirements-engines.txt, and Java 17 for Spark. EMEND_BULK_ROWS rows, by default 100,000.

Every engine may use two processors, and has a process of its own, so that none takes those of another. A rate is that
of the rows after the first thousand, in the fastest of several jobs: the job with a thousand rows shows how long it
takes until workers have started. The same rows without an engine are measured between these jobs, so that both have the
same load on the machine.
"""

from __future__ import annotations

import os
import subprocess
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
Job = Callable[[Callable[..., Any], int], Any]
FEW = 1_000
RUNS = 3


def copied(batch: Any, **_: Any) -> pa.RecordBatch:
    """Stands in for a bulk function: it returns the column of texts."""
    before = pa.table(batch).column("before").combine_chunks().cast(pa.large_string())
    return pa.record_batch({"ok": pa.nulls(len(before), pa.bool_()), "after": before})


def alone(function: Callable[..., Any], count: int) -> Any:
    return pa.table(function(table(count), **OPTIONS))


def polars(function: Callable[..., Any], count: int) -> Any:
    return on_polars.map_batches(pl.DataFrame(table(count)), function, INPUTS, keep=["n"], **OPTIONS)


def in_duckdb(function: Callable[..., Any], count: int) -> Any:
    connection = duckdb.connect()
    rows = table(count)  # noqa: F841: DuckDB finds it by its name
    on_duckdb.register(connection, "emend", function, INPUTS, **OPTIONS)
    return pa.table(connection.sql("SELECT n, unnest(emend(before, edit, path)) FROM rows").arrow())


def in_daft(function: Callable[..., Any], count: int) -> Any:
    return on_daft.map_batches(daft.from_arrow(table(count)), function, INPUTS, keep=["n"], **OPTIONS).to_arrow()


def in_ray(function: Callable[..., Any], count: int) -> Any:
    import ray
    from emendate.bulk import ray as on_ray

    if not ray.is_initialized():
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        ray.data.DataContext.get_current().enable_progress_bars = False
    # An actor gets one block at a time.
    blocks = [table(count).slice(at, 5_000) for at in range(0, count, 5_000)]
    dataset = on_ray.map_batches(ray.data.from_arrow(blocks), function, keep=["n"], actors=2, **OPTIONS)
    return ray.get(dataset.to_arrow_refs())


def in_spark(function: Callable[..., Any], count: int) -> Any:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from emendate.bulk import spark as on_spark
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    frame = session.read.parquet(parquet(count)).repartition(4)
    return on_spark.map_batches(frame, function, keep=["n"], **OPTIONS).toArrow()


JOBS: dict[str, Job] = {
    "Polars": polars,
    "DuckDB": in_duckdb,
    "Daft": in_daft,
    "Ray": in_ray,
    "Spark": in_spark,
}


def seconds(job: Job, function: Callable[..., Any], count: int) -> float:
    table(count)
    started = time.perf_counter()
    job(function, count)
    return time.perf_counter() - started


def measured(name: str) -> str:
    """The row of an engine."""
    calls = [(JOBS[name], bulk.apply_many), (JOBS[name], copied), (alone, bulk.apply_many)]
    times: dict[int, list[list[float]]] = {}
    for _ in range(RUNS):
        for count in (FEW, COUNT):
            times.setdefault(count, []).append([seconds(job, function, count) for job, function in calls])
    # The first job of all starts the engine.
    few, all = ([min(of_call) for of_call in zip(*times[count])] for count in (FEW, COUNT))
    ours, copies, local = ((COUNT - FEW) / (long - short) for long, short in zip(all, few))
    both = 1 / (1 / copies + 1 / local)
    shares = [f"{ours / limit:.0%}" for limit in (min(copies, local), both)]
    cells = [f"{ours:,.0f}", f"{copies:,.0f}", f"{local:,.0f}", *shares, f"{few[0]:.1f} s"]
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        print(measured(sys.argv[2]), flush=True)
        # Some engines leave threads that would keep the process.
        os._exit(0)
    limits = "a function that copies the texts | without an engine | of the lower limit | of both"
    print(f"| engine | rows per second | {limits} | start |")
    print("|---|---:|---:|---:|---:|---:|---:|", flush=True)
    for name in sys.argv[1:] or JOBS:
        subprocess.run([sys.executable, __file__, "--one", name], check=True)


if __name__ == "__main__":
    main()
