"""A job on a cluster of Spark that loses a machine: a master and two workers on this one, one of them killed midway.

`python examples/spark_cluster.py ROWS.parquet` applies the edit of each row (columns `n`, `before`, `edit`, `path`). The
master and the workers are processes of their own, and each worker starts an executor. When half of the rows are done,
the second worker and its executor are killed; Spark computes their tasks once more on the other. The result is compared
with that of one process. Needs Java 17 or later and `pip install "emendate[spark]"`.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from emendate import bulk
from emendate.bulk import spark as on_spark
from pyspark.sql import SparkSession

COLUMNS = ["ok", "code", "after", "format", "tier", "added", "removed"]
OPTIONS: dict[str, Any] = {"path": "path", "columns": COLUMNS, "max_steps": 2_000_000}
HOME = Path(pyspark.__file__).parent
HOST = "127.0.0.1"


class Counted:
    """A bulk function that appends the number of its rows to a file, so that the program sees how far the job is."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def __call__(self, batch: Any, **options: Any) -> Any:
        made = bulk.apply_many(batch, **options)
        with self.log.open("a") as log:
            log.write(f"{batch.num_rows}\n")
        return made

    def rows(self) -> int:
        return sum(map(int, self.log.read_text().split())) if self.log.exists() else 0


def start(directory: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Starts a process of the cluster, in a process group that its executors belong to, too."""
    command = [str(HOME / "bin/spark-class"), f"org.apache.spark.deploy.{name}", "--host", HOST, *arguments]
    environment = {**os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": HOST, "SPARK_WORKER_DIR": str(directory)}
    log = (directory / f"{name}-{len(arguments)}.log").open("ab")
    return subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)


def kill_at(done: Counted, rows: int, worker: subprocess.Popen[bytes], killed: list[int]) -> None:
    """Kills a worker and its executor when that many rows are done."""
    while done.rows() < rows:
        time.sleep(0.02)
    os.killpg(worker.pid, signal.SIGKILL)
    killed.append(done.rows())


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return listener.getsockname()[1]


def listening(port: int) -> None:
    """Waits until a process listens."""
    for _ in range(300):
        with socket.socket() as client:
            if client.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError("the master of Spark does not start")


def job(rows: str, master: str, done: Counted) -> pa.Table:
    builder = SparkSession.builder.master(master).appName("emendate").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "1000")
    builder = builder.config("spark.executor.memory", "1g").config("spark.executor.cores", "1")
    # Small tasks, so that both workers have some.
    builder = builder.config("spark.sql.files.maxPartitionBytes", "1m").config("spark.sql.files.openCostInBytes", "0")
    session = builder.config("spark.driver.host", HOST).config("spark.driver.bindAddress", HOST).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    frame = on_spark.map_batches(session.read.parquet(rows), done, keep=["n"], **OPTIONS)
    made = frame.toArrow().sort_by("n")
    session.stop()
    return made


def main(rows: str) -> None:
    count, directory, port = pq.read_metadata(rows).num_rows, Path(tempfile.mkdtemp()), free_port()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = HOST
    master = f"spark://{HOST}:{port}"
    done, killed = Counted(directory / "rows"), list[int]()
    cluster = [start(directory, "master.Master", "--port", str(port), "--webui-port", "0")]
    try:
        listening(port)
        worker = ["worker.Worker", "--cores", "1", "--memory", "1g", "--webui-port", "0", master]
        cluster += [start(directory, *worker) for _ in range(2)]
        killer = threading.Thread(target=kill_at, args=(done, count // 2, cluster[2], killed), daemon=True)
        killer.start()
        started = time.perf_counter()
        made = job(rows, master, done)
        seconds, computed = time.perf_counter() - started, done.rows()
    finally:
        for process in cluster:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    local = pa.table(bulk.apply_many(pq.read_table(rows), **OPTIONS))
    assert killed, "no worker was killed"
    assert made.select(COLUMNS).to_pylist() == local.to_pylist(), "the tables differ"
    print(f"{made.num_rows} rows in {seconds:.1f} s; after {killed[0]} rows a worker was killed; {computed} were computed.")
    print("The table is the same as that of one process.")


if __name__ == "__main__":
    main(sys.argv[1])
