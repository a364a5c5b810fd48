"""The cluster programs of `examples`: processes of their own, one of them killed, and the same table."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests_engines.rows import COUNT, parquet

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
# Ray takes minutes to notice that a machine is gone.
ENGINES = os.environ.get("EMEND_BULK_CLUSTERS", "ray spark").split()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_lost_machine_changes_nothing(engine: str) -> None:
    program = [sys.executable, str(EXAMPLES / f"{engine}_cluster.py"), parquet()]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr[-3000:]
    print(ran.stdout)
    assert f"{COUNT} rows in" in ran.stdout
    assert "was killed" in ran.stdout
    assert "The table is the same as that of one process." in ran.stdout
