"""Bulk functions on real engines: the same table as without one."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import daft
import duckdb
import polars as pl
import pyarrow as pa
import pytest
from emendate import bulk, errors
from emendate.bulk import daft as on_daft
from emendate.bulk import duckdb as on_duckdb
from emendate.bulk import polars as on_polars

from tests_engines.rows import COLUMNS, FEWER, INPUTS, OPTIONS, check, parquet, table


def test_polars_frames() -> None:
    check(on_polars.map_batches(pl.DataFrame(table()), bulk.apply_many, INPUTS, **OPTIONS).to_arrow())


def test_polars_queries_and_expressions() -> None:
    query = pl.scan_parquet(parquet(FEWER))
    made = on_polars.map_batches(query, bulk.apply_many, INPUTS, **OPTIONS)
    check(made.collect(engine="streaming").to_arrow(), FEWER)
    frame = pl.DataFrame(table().slice(0, 100))
    made = frame.select(on_polars.expression(bulk.apply_many, INPUTS, threads=1, **OPTIONS).alias("made"))
    assert made["made"].struct.field("ok").to_list() == pl.DataFrame(bulk.apply_many(frame, **OPTIONS))["ok"].to_list()


def test_duckdb() -> None:
    connection = duckdb.connect()
    rows = table()  # noqa: F841: DuckDB finds it by its name
    on_duckdb.register(connection, "emend", bulk.apply_many, INPUTS, **OPTIONS)
    made = connection.sql("SELECT n, unnest(emend(before, edit, path)) FROM rows")
    check(pa.table(made.arrow()))


def test_duckdb_lists_and_rewards() -> None:
    connection = duckdb.connect()
    on_duckdb.register(connection, "emend", bulk.apply_many, columns=["spans", "notes"])
    on_duckdb.register(
        connection, "reward", bulk.reward_many, ["before", "edit", "expected"], reward="similarity", expected="expected"
    )
    edit = "<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE\n"
    sql = "SELECT emend($1, $2).spans[1].start, reward($1, $2, $3).reward"
    assert connection.execute(sql, ["a\nb\n", edit, "a\nc\n"]).fetchall() == [(2, 1.0)]


PATCH = "a.py\n<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE\n"


def test_files_in_polars_and_duckdb() -> None:
    frame = pl.DataFrame({"files": [[{"path": "a.py", "text": "b\n"}]], "edit": [PATCH]})
    made = on_polars.map_batches(frame, bulk.apply_files_many, ["files", "edit"], keep=False)
    assert made["files"].to_list() == [[{"path": "a.py", "kind": "updated", "from_path": None, "text": "c\n"}]]
    connection = duckdb.connect()
    on_duckdb.register(connection, "emend", bulk.apply_files_many, ["files", "edit"])
    sql = "SELECT emend([{'path': 'a.py', 'text': 'b' || chr(10)}], $1).files[1].text"
    assert connection.execute(sql, [PATCH]).fetchall() == [("c\n",)]


def test_mistakes_in_polars_keep_their_message() -> None:
    frame = pl.DataFrame({"before": ["b\n"], "edit": [1]})
    for call in (
        lambda: on_polars.map_batches(frame, bulk.apply_many),
        lambda: on_polars.map_batches(frame.lazy(), bulk.apply_many).collect(),
    ):
        with pytest.raises(Exception, match="The column `edit` is Int64, and not text"):
            call()


def test_daft() -> None:
    frame = on_daft.map_batches(daft.from_arrow(table()), bulk.apply_many, INPUTS, **OPTIONS)
    check(frame.to_arrow())


@pytest.fixture(scope="module")
def ray() -> Any:
    import ray

    # A cluster that another program left is not used.
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


def test_ray(ray: Any) -> None:
    from emendate.bulk import ray as on_ray

    dataset = on_ray.map_batches(ray.data.from_arrow(table()), bulk.apply_many, actors=2, **OPTIONS)
    check(pa.concat_tables(ray.get(dataset.to_arrow_refs())))


class KilledOnce:
    """A bulk function whose first process is killed in the middle of the job."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __call__(self, batch: Any, **options: Any) -> Any:
        if batch.num_rows and not self.mark.exists() and batch.column("n")[0].as_py() >= FEWER // 2:
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return bulk.apply_many(batch, **options)


def test_a_killed_worker_of_ray_changes_nothing(ray: Any, tmp_path: Path) -> None:
    from emendate.bulk import ray as on_ray

    killed = KilledOnce(tmp_path / "killed")
    dataset = on_ray.map_batches(ray.data.from_arrow(table(FEWER)), killed, actors=2, **OPTIONS)
    check(pa.concat_tables(ray.get(dataset.to_arrow_refs())), FEWER)
    assert killed.mark.exists()


@pytest.fixture(scope="module")
def spark() -> Any:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # Results of tasks go through the network, which a sandbox may not have.
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    # Two workers of their own processes, and tasks that are repeated.
    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "2000")
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def test_spark(spark: Any) -> None:
    from emendate.bulk import spark as on_spark

    made = on_spark.map_batches(spark.read.parquet(parquet()), bulk.apply_many, keep=["n"], **OPTIONS)
    check(made.toArrow())


def test_a_udf_of_spark(spark: Any) -> None:
    from emendate.bulk import spark as on_spark

    emend = on_spark.udf(bulk.apply_many, INPUTS, **OPTIONS)
    frame = spark.read.parquet(parquet(FEWER))
    made = frame.select("n", emend("before", "edit", "path").alias("made")).select("n", "made.*")
    check(made.toArrow(), FEWER)


def test_a_killed_worker_of_spark_changes_nothing(spark: Any, tmp_path: Path) -> None:
    from emendate.bulk import spark as on_spark

    killed = KilledOnce(tmp_path / "killed")
    made = on_spark.map_batches(spark.read.parquet(parquet(FEWER)), killed, keep=["n"], **OPTIONS)
    check(made.toArrow(), FEWER)
    assert killed.mark.exists()


def test_mistakes_of_a_program_raise(spark: Any) -> None:
    from emendate.bulk import spark as on_spark

    with pytest.raises(errors.CallError, match="no column `nothing`"):
        on_spark.map_batches(spark.read.parquet(parquet()), bulk.apply_many, before="nothing")
    with pytest.raises(ValueError, match="two columns 'code'"):
        frame = spark.createDataFrame([("a", "b", "c")], "before string, edit string, ok string")
        on_spark.map_batches(frame.withColumnRenamed("ok", "code"), bulk.apply_many)
    frame = daft.from_pydict({"before": ["a"], "edit": ["b"]})
    with pytest.raises(errors.CallError, match="no column `other`"):
        on_daft.map_batches(frame, bulk.apply_many, before="other")
    with pytest.raises(errors.CallError, match="no column `other`"):
        on_polars.map_batches(pl.DataFrame({"before": ["a"], "edit": ["b"]}), bulk.apply_many, before="other")
    assert set(COLUMNS) > {"ok", "after"}
