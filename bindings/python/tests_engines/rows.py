"""Rows of edits of this repository's own files, with hostile ones between them."""

import functools
import os
import random
import tempfile
from pathlib import Path

import emendate
import pyarrow as pa
from emendate import bulk

ROOT = Path(__file__).resolve().parents[3]
COUNT = int(os.environ.get("EMEND_BULK_ROWS", "100000"))
# For a second way to call an engine, and for workers that are killed.
FEWER = COUNT // 5
FORMATS = ["search_replace", "unified_diff", "apply_patch"]
COLUMNS = ["ok", "code", "after", "format", "tier", "edits", "added", "removed", "message"]
# A row takes at most that much work, so that hostile ones do not make the tests long.
OPTIONS = {"columns": COLUMNS, "path": "path", "max_steps": 2_000_000}
INPUTS = ["before", "edit", "path"]

HOSTILE = [
    ("<<<<<<< SEARCH\n" * 400, "a\n"),
    ("\\" * 1000 + '{"a":' * 400, "a\n"),
    ("@@ -1,1000000 +1,1000000 @@\n-a\n+b\n", "a\n"),
    ("<<<<<<< SEARCH\na b\na b\n=======\nc\n>>>>>>> REPLACE\n", "a  b \n" * 300),
    ("<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", "a\na\n"),
    ("", ""),
    ("\u202e\u0000\ufeff", "\u0000"),
]


def texts() -> list[tuple[str, str]]:
    """Names and pieces of about 1 KB of source files."""
    pieces = []
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs"))[:60]:
        text = path.read_text()
        name = str(path.relative_to(ROOT))
        pieces += [(name, text[at : at + 1000].partition("\n")[2]) for at in range(0, len(text) - 1000, 1000)]
    return [(name, piece) for name, piece in pieces if piece.count("\n") > 10]


def edit(rng: random.Random, name: str, before: str) -> str:
    """An edit of a few lines in one of the formats, some with the mistakes of models."""
    lines = before.splitlines(keepends=True)
    at = rng.randrange(1, len(lines) - 2)
    lines[at : at + rng.randrange(1, 3)] = [f"    changed({rng.randrange(1000)});\n"]
    patch = emendate.diff(before, "".join(lines)).to_patch(name, rng.choice(FORMATS))
    if rng.random() < 0.1:
        patch = patch.replace("    ", "  ")
    if rng.random() < 0.05:
        patch = patch.replace("let", "lit")
    return patch


@functools.cache
def table(count: int = COUNT) -> pa.Table:
    """The rows: their number, the text before, the edit and the path."""
    rng = random.Random(21)
    pieces = texts()
    printed = []
    while len(printed) < 500:
        name, before = rng.choice(pieces)
        printed.append((name, before, edit(rng, name, before)))
    rows = []
    for nth in range(count):
        if nth % 50 == 49:
            broken, before = HOSTILE[nth // 100 % len(HOSTILE)]
            rows.append(("x.txt", before, broken if nth % 100 == 49 else None))
        else:
            rows.append(printed[rng.randrange(len(printed))])
    names, before, edits = (pa.array(column, pa.string()) for column in zip(*rows))
    return pa.table({"n": pa.array(range(count), pa.int64()), "before": before, "edit": edits, "path": names})


@functools.cache
def local() -> list[dict[str, object]]:
    """The result of the same rows without any engine."""
    made = pa.table(bulk.apply_many(table(), **OPTIONS)).to_pylist()
    good = sum(bool(row["ok"]) for row in made)
    assert len(made) * 0.8 < good < len(made)
    assert len({row["code"] for row in made}) > 4
    return made


@functools.cache
def parquet(count: int = COUNT) -> str:
    """The rows in a file."""
    import pyarrow.parquet

    path = Path(tempfile.mkdtemp()) / "rows.parquet"
    pyarrow.parquet.write_table(table(count), path, row_group_size=10_000)
    return str(path)


def check(found: pa.Table, count: int = COUNT) -> None:
    """The rows of an engine, in any order, are those of the local result."""
    assert found.num_rows == count
    assert found.sort_by("n").select(COLUMNS).to_pylist() == local()[:count]
