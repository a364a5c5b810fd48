"""A job on a cluster of Ray that loses a machine: two worker nodes on this one, one of them killed midway.

`python examples/ray_cluster.py ROWS.parquet` applies the edit of each row (columns `n`, `before`, `edit`, `path`). Each
node is a process of its own, with its own workers and its own store of objects. When half of the rows are done, the
node that made most of them is killed; Ray computes its batches once more on the other. The result is compared with that
of one process. Needs `pip install "emendate[ray]"`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import ray
from emendate import bulk
from emendate.bulk import ray as on_ray
from ray.cluster_utils import Cluster

COLUMNS = ["ok", "code", "after", "format", "tier", "added", "removed"]
OPTIONS: dict[str, Any] = {"path": "path", "columns": COLUMNS, "max_steps": 2_000_000}
BATCH_ROWS = 1024
BLOCKS = 16
# Ray Data starts no task that might not fit into the store of objects.
STORE_BYTES = 1 << 30


class Counted:
    """A bulk function that appends its node and the number of its rows to a file, so that the program sees how far the
    job is."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def __call__(self, batch: Any, **options: Any) -> Any:
        made = bulk.apply_many(batch, **options)
        with self.log.open("a") as log:
            log.write(f"{ray.get_runtime_context().get_node_id()} {batch.num_rows}\n")
        return made

    def by_node(self) -> Counter[str]:
        """The rows that were computed on each node, also those that were lost."""
        rows = Counter[str]()
        for line in self.log.read_text().splitlines() if self.log.exists() else []:
            node, count = line.split()
            rows[node] += int(count)
        return rows


def kill_at(done: Counted, rows: int, cluster: Cluster, nodes: list[Any], killed: list[str]) -> None:
    """Kills the node that did most of the work when that many rows are done."""
    while (by_node := done.by_node()).total() < rows:
        time.sleep(0.02)
    [(busiest, lost)] = by_node.most_common(1)
    [node] = [node for node in nodes if node.node_id == busiest]
    cluster.remove_node(node, allow_graceful=False)
    killed.append(f"after {by_node.total()} rows a node was killed that had made {lost}")


def main(rows: str) -> None:
    count = pq.read_metadata(rows).num_rows
    # The head has no worker; the logical processors of a node leave room for the tasks that read.
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": STORE_BYTES})
    nodes = [cluster.add_node(num_cpus=3, object_store_memory=STORE_BYTES) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    done, killed = Counted(Path(tempfile.mkdtemp()) / "rows"), list[str]()
    # Small blocks, so that both nodes have some.
    given = ray.data.read_parquet(rows, override_num_blocks=BLOCKS)
    dataset = on_ray.map_batches(given, done, keep=["n"], actors=2, batch_size=BATCH_ROWS, **OPTIONS)
    killer = threading.Thread(target=kill_at, args=(done, count // 2, cluster, nodes, killed), daemon=True)
    killer.start()
    started = time.perf_counter()
    made = pa.concat_tables(ray.get(dataset.to_arrow_refs())).sort_by("n")
    seconds = time.perf_counter() - started
    alive = sum(node["Alive"] for node in ray.nodes()) - 1
    local = pa.table(bulk.apply_many(pq.read_table(rows), **OPTIONS))
    assert killed and alive == 1, f"no node was killed: {killed}, {alive}"
    assert made.select(COLUMNS).to_pylist() == local.to_pylist(), "the tables differ"
    print(f"{made.num_rows} rows in {seconds:.1f} s; {killed[0]}; {done.by_node().total()} were computed.")
    print("The table is the same as that of one process.")
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    main(sys.argv[1])
