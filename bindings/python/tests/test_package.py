"""Contents of the wheel beside the functions."""

import importlib.metadata
import importlib.resources
import subprocess
import sys
import sysconfig
from pathlib import Path

import emendate


def test_the_package_is_typed_and_has_a_version() -> None:
    assert (importlib.resources.files("emendate") / "py.typed").is_file()
    assert importlib.metadata.version("emendate") == emendate.__version__


def test_the_command_is_installed(tmp_path: Path) -> None:
    emend = Path(sysconfig.get_path("scripts")) / "emend"
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    done = subprocess.run(
        [emend, "edit", "a.txt", "--old", "two", "--new", "2"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.txt").read_text() == "one\n2\n"


def test_everything_public_has_a_docstring() -> None:
    for name in emendate.__all__:
        thing = getattr(emendate, name)
        if callable(thing):
            assert thing.__doc__, name


def test_the_import_is_light() -> None:
    """The package alone must not load what only adapters and engines need."""
    script = "import sys, emendate; print([m for m in ('pyarrow', 'numpy', 'pydantic', 'asyncio') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


def test_free_threaded_interpreters_stay_without_a_lock() -> None:
    script = "import sys, emendate; print(getattr(sys, '_is_gil_enabled', lambda: True)())"
    has_lock = not sysconfig.get_config_var("Py_GIL_DISABLED")
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == str(has_lock)
