"""The programs of the adapters' pages run."""

import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).resolve().parents[3] / "docs/adapters").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Its dependencies contradict those of the others.
ELSEWHERE = {"openhands.md"}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in ELSEWHERE], ids=lambda page: page.stem)
def test_program(page: Path) -> None:
    (program,) = BLOCK.findall(page.read_text())
    assert len(program.splitlines()) <= 35
    exec(compile(program, str(page), "exec"), {"__name__": "__main__"})


def test_every_adapter_has_a_page() -> None:
    adapters = Path(__file__).resolve().parents[1] / "python/emendate/adapters"
    names = {path.stem.replace("_", "-") for path in adapters.glob("[!_]*.py")}
    assert names == {page.stem for page in PAGES}
