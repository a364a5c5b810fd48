"""The programs of the page on engines run."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs/bulk-engines.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_program(program: str) -> None:
    exec(compile(program, str(PAGE), "exec"), {"__name__": "__main__"})


def test_the_page_has_programs() -> None:
    assert len(PROGRAMS) >= 3
