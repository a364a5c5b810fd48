"""Functions of other packages that apply edits. They are installed on first use, without what they need for other ends."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

PACKAGES = [
    "aider-chat==0.86.2",
    "codex-apply-patch==0.4.0",
    "diff-match-patch==20241021",
    "GitPython==3.2.1",
    "gitdb==4.0.12",
    "openai-agents==0.24.0",
    "packaging==26.3",
    "rapidfuzz==3.14.6",
    "smmap==5.0.3",
    "whatthepatch==1.0.7",
]
ROOT = Path(__file__).resolve().parents[3]


def install() -> None:
    """Puts the packages where this process finds them. A failure is printed; `peer` then names what is missing."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    directory = target / f"python/bench-peers-{sys.version_info[0]}.{sys.version_info[1]}"
    sys.path.append(str(directory))
    done = directory / "installed.txt"
    if done.exists() and done.read_text().split() == PACKAGES:
        return
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # aider's package says that it is for other versions of Python, but not why.
    options = ["--no-deps", "--ignore-requires-python", "--upgrade", "--target", str(directory)]
    for package in PACKAGES:
        if subprocess.run([*pip, *options, package], stdout=sys.stderr).returncode:
            return
    done.write_text("\n".join(PACKAGES))


def peer(load: Callable[[], Any]) -> Any:
    """The function that `load` returns; `None` for a package that is not there, which is named."""
    try:
        return load()
    except (ImportError, OSError) as missing:
        print(f"not measured: {load.__name__}: {missing}", file=sys.stderr)
        return None


def named(module: str, name: str) -> Callable[[], Any]:
    """Loads a function of a module."""

    def load() -> Any:
        return getattr(importlib.import_module(module), name)

    load.__name__ = f"{module}.{name}"
    return load


def apply_diff() -> Any:
    """The function of the Agents SDK, without the rest of it."""
    found = importlib.util.find_spec("agents")
    if found is None or not found.submodule_search_locations:
        raise ImportError("there is no package `agents`")
    spec = importlib.util.spec_from_file_location("apply_diff", Path(found.submodule_search_locations[0], "apply_diff.py"))
    assert spec and spec.loader
    module = sys.modules["apply_diff"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.apply_diff


def aider(module: str, name: str) -> Callable[[], Any]:
    """Loads a function of aider, without its models, its terminal and its map of the repository."""

    def load() -> Any:
        found = importlib.import_module("aider")
        _stand_in("aider.coders").__path__ = [str(Path(found.__file__ or "").parent / "coders")]
        _stand_in("aider.coders.base_coder", Coder=object)
        _stand_in("aider.waiting", Spinner=object)
        _stand_in("oslex")
        _stand_in("tqdm", tqdm=None)
        return getattr(importlib.import_module(f"aider.coders.{module}"), name)

    load.__name__ = f"aider.{module}.{name}"
    return load


def _stand_in(name: str, **members: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    return module
