"""The programs of the pages run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = ["docs/python.md", "docs/bulk.md", "bindings/python/README.md"]
# A fence within a program is indented or part of a string, never a line of its own.
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS = [(page, program) for page in PAGES for program in BLOCK.findall((ROOT / page).read_text())]


@pytest.mark.parametrize(("page", "program"), PROGRAMS, ids=[page for page, _ in PROGRAMS])
def test_program(page: str, program: str) -> None:
    if "import polars" in program:
        # There is none for free-threaded interpreters.
        pytest.importorskip("polars")
    exec(compile(program, page, "exec"), {"__name__": "__main__"})


def test_every_page_has_programs() -> None:
    assert {page for page, _ in PROGRAMS} == set(PAGES)
