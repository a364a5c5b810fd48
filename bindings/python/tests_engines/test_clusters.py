"""The cluster programs of `examples`: processes of their own, one of them killed, and the same table."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests_engines.rows import CLUSTER_COUNT, parquet

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_a_lost_machine_changes_nothing(engine: str) -> None:
    program = [sys.executable, str(EXAMPLES / f"{engine}_cluster.py"), parquet(CLUSTER_COUNT)]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr[-3000:]
    print(ran.stdout)
    assert f"{CLUSTER_COUNT} rows in" in ran.stdout
    assert "was killed" in ran.stdout
    assert "The table is the same as that of one process." in ran.stdout
