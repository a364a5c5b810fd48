"""Paths as a model sees them."""

from __future__ import annotations

import re


def shown(text: str, root: str, name: str) -> str:
    """Replaces the directory `root` by `name` in a text."""
    return re.sub(re.escape(root) + r"(?![\w.-])", lambda _: name, text) if root else text
