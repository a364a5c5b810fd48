"""Rates of edits per second, beside what programs use instead. All of them in one run, on one processor.

`python bench/run.py` prints the table of docs/bulk.md. Packages: bench/requirements.txt; programs: git, patch. Those of
peers.py are installed on first use; one that is missing is named, and has no row.
"""

from __future__ import annotations

import difflib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import emendate
import pyarrow as pa
from emendate import bulk

sys.path.insert(0, str(Path(__file__).resolve().parent))

from peers import aider, apply_diff, install, named, peer

SIZES = {"1 KB": 1_000, "12 KB": 12_000, "393 KB": 393_000}
MEASURED_SECONDS = 0.4
RUNS = 3


def text_of(size: int) -> str:
    """Code-like text of about that size: every function has its own name."""
    parts, length, nth = [], 0, 0
    while length < size:
        part = f"def function_{nth}(value, other):\n    total = value * {nth} + other\n    if total > {nth * 7}:\n"
        part += f"        return total - {nth}\n    return other\n\n"
        parts.append(part)
        length, nth = length + len(part), nth + 1
    return "".join(parts)


def rate(call: Callable[[], Any], per_call: int = 1) -> float:
    """Calls per second, times the edits of a call: the best of several runs."""
    call()
    best = 0.0
    for _ in range(RUNS):
        count, started = 0, time.perf_counter()
        while (spent := time.perf_counter() - started) < MEASURED_SECONDS:
            call()
            count += 1
        best = max(best, count / spent)
    return best * per_call


def in_files(before: str, patch: str, command: list[str]) -> Callable[[], None]:
    """A program that applies a patch to a file, which is written again for each call, as its users must."""
    directory = Path(tempfile.mkdtemp())
    (directory / "patch").write_text(patch)

    def call() -> None:
        (directory / "a.py").write_text(before)
        subprocess.run(command, cwd=directory, check=True, stdout=subprocess.DEVNULL)
        (directory / "a.py").read_text()

    return call


def many(before: str, edit: str, format: str | None, threads: int = 1) -> tuple[Callable[[], Any], int]:
    """A batch of the same edit, about 4 MB of it."""
    count = max(8, 4_000_000 // len(before))
    batch = pa.record_batch({"before": [before] * count, "edit": [edit] * count})

    def call() -> Any:
        made = pa.record_batch(
            bulk.apply_many(batch, format=format, path=None, threads=threads, columns=["ok", "after"])
        )
        return made

    assert all(call()["ok"].to_pylist())
    return call, count


class Case:
    """One text, and one change of it in several forms."""

    def __init__(self, size: int) -> None:
        self.before = text_of(size)
        lines = self.before.splitlines(keepends=True)
        at = len(lines) // 2 // 6 * 6
        self.old = "".join(lines[at + 1 : at + 4])
        self.new = self.old.replace("total", "result")
        self.after = self.before.replace(self.old, self.new)
        assert self.before.count(self.old) == 1
        self.shifted = "".join(line.removeprefix("    ") for line in self.old.splitlines(keepends=True))
        self.shifted_new = "".join(line.removeprefix("    ") for line in self.new.splitlines(keepends=True))
        difference = emendate.diff(self.before, self.after)
        self.unified = difference.to_patch("a.py", "unified_diff")
        self.v4a = difference.to_patch("a.py", "apply_patch")
        self.v4a_body = "\n".join(self.v4a.splitlines()[2:-1])

    def block(self, old: str, new: str) -> str:
        return f"<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"

    def replaced(self) -> str:
        if self.before.count(self.old) != 1:
            raise ValueError
        return self.before.replace(self.old, self.new)

    def rows(self) -> dict[str, dict[str, float]]:
        return {
            "exact": self.exact(),
            "lenient (indentation)": self.lenient(),
            "unified diff": self.unified_diff(),
            "V4A": self.v4a_patch(),
        }

    def exact(self) -> dict[str, float]:
        edit = self.block(self.old, self.new)
        call, count = many(self.before, edit, "search_replace")
        return {
            "emendate.edit": rate(lambda: emendate.edit(self.before, self.old, self.new)),
            "emendate.apply": rate(lambda: emendate.apply(self.before, edit, format="search_replace")),
            "bulk.apply_many": rate(call, count),
            "str.count + replace": rate(self.replaced),
            **self.by_aider(self.old, self.new),
        }

    def lenient(self) -> dict[str, float]:
        assert emendate.edit(self.before, self.shifted, self.shifted_new).text == self.after
        call, count = many(self.before, self.block(self.shifted, self.shifted_new), "search_replace")
        return {
            "emendate.edit": rate(lambda: emendate.edit(self.before, self.shifted, self.shifted_new)),
            "bulk.apply_many": rate(call, count),
            **self.by_aider(self.shifted, self.shifted_new),
        }

    def by_aider(self, old: str, new: str) -> dict[str, float]:
        replace = peer(aider("editblock_coder", "replace_most_similar_chunk"))
        if not replace:
            return {}
        assert replace(self.before, old, new) == self.after
        return {"aider, block": rate(lambda: replace(self.before, old, new))}

    def unified_diff(self) -> dict[str, float]:
        assert emendate.apply(self.before, self.unified, format="unified_diff", path="a.py").text == self.after
        call, count = many(self.before, self.unified, "unified_diff")
        made = {
            "emendate.apply": rate(lambda: emendate.apply(self.before, self.unified, format="unified_diff")),
            "bulk.apply_many": rate(call, count),
        }
        parse, apply = peer(named("whatthepatch", "parse_patch")), peer(named("whatthepatch", "apply_diff"))
        if parse and apply:
            lines = self.before.splitlines()
            made["whatthepatch"] = rate(lambda: [apply(patch, lines) for patch in parse(self.unified)])
        find, hunk = peer(aider("udiff_coder", "find_diffs")), peer(aider("udiff_coder", "apply_hunk"))
        if find and hunk:
            # aider takes the line of git for a change of its own.
            body = self.unified[self.unified.index("--- ") :]
            fenced = f"```diff\n{body}```\n"
            (result,) = [hunk(self.before, lines) for _, lines in find(fenced)]
            assert result == self.after
            made["aider, unified diff"] = rate(lambda: [hunk(self.before, lines) for _, lines in find(fenced)])
        made["git apply"] = rate(in_files(self.before, self.unified, ["git", "apply", "patch"]))
        made["GNU patch"] = rate(in_files(self.before, self.unified, ["patch", "-s", "-p1", "-i", "patch"]))
        return made

    def v4a_patch(self) -> dict[str, float]:
        assert emendate.apply(self.before, self.v4a, format="apply_patch", path="a.py").text == self.after
        call, count = many(self.before, self.v4a, "apply_patch")
        made = {
            "emendate.apply": rate(lambda: emendate.apply(self.before, self.v4a, format="apply_patch")),
            "bulk.apply_many": rate(call, count),
        }
        agents = peer(apply_diff)
        if agents:
            assert agents(self.before, self.v4a_body) == self.after
            made["Agents SDK apply_diff"] = rate(lambda: agents(self.before, self.v4a_body))
        codex = peer(named("codex_apply_patch", "apply_patch_in_memory"))
        if codex:
            # It drops a blank line at the end of the file.
            result = codex(self.v4a, {"a.py": self.before}).files["a.py"]
            assert result.rstrip("\n") == self.after.rstrip("\n")
            made["codex-apply-patch"] = rate(lambda: codex(self.v4a, {"a.py": self.before}).files["a.py"])
        return made


def similarities(case: Case) -> dict[str, float]:
    """Comparisons per second of two texts that differ in three lines."""
    a, b = case.before, case.after
    lines = [text.splitlines(keepends=True) for text in (a, b)]
    assert emendate.similarity(a, b) == difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()
    made = {
        "emendate.similarity": rate(lambda: emendate.similarity(a, b)),
        "difflib, characters": rate(lambda: difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()),
        'emendate.similarity(by="lines")': rate(lambda: emendate.similarity(a, b, by="lines")),
        "difflib, lines": rate(lambda: difflib.SequenceMatcher(None, *lines, autojunk=False).ratio()),
    }
    ratio = peer(named("rapidfuzz.fuzz", "ratio"))
    if ratio:
        made["rapidfuzz.fuzz.ratio (another measure)"] = rate(lambda: ratio(a, b))
    return made


def shares(case: Case) -> None:
    """Goals that compare our own numbers."""
    edit = case.block(case.old, case.new)
    one, count = many(case.before, edit, "search_replace", 1)
    two, _ = many(case.before, edit, "search_replace", 2)
    alone = rate(lambda: [emendate.apply(case.before, edit, format="search_replace") for _ in range(count)], count)
    first, second = rate(one, count), rate(two, count)
    print(f"Two threads do {second / first:.2f} times the rows of one. A row of a batch takes {alone / first:.2f} times")
    print("as long as a call of `emendate.apply` in a loop.")


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def main() -> None:
    install()
    cases = {name: Case(size) for name, size in SIZES.items()}
    found = {name: case.rows() for name, case in cases.items()}
    print("| edit | function | " + " | ".join(SIZES) + " |\n|---|---|" + "---:|" * len(SIZES))
    for edit, functions in found["12 KB"].items():
        for function in functions:
            cells = [number(found[size][edit][function]) if function in found[size][edit] else "" for size in SIZES]
            print(f"| {edit} | `{function}` | " + " | ".join(cells) + " |")
    print("\n| comparison at 12 KB | per second |\n|---|---:|")
    for function, value in similarities(cases["12 KB"]).items():
        print(f"| `{function}` | {number(value)} |")
    print()
    shares(cases["12 KB"])


if __name__ == "__main__":
    main()
