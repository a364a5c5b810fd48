"""Views that end where a model was told that they do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emendate.errors import EmendError
from emendate.workspace import Session

# A number, and the tab behind it.
_NUMBER_CHARACTERS = 7


def view_window(session: Session, input: Mapping[str, Any], max_characters: int) -> tuple[int, int, int] | None:
    """The first and the last line that a view shows, and the last that it would show without a limit; `None` if the
    limit makes no difference, and for what is not the view of a text."""
    path, given = input.get("path"), input.get("view_range") or [1, -1]
    if input.get("command") != "view" or not isinstance(path, str) or not _is_range(given):
        return None
    try:
        text = session._text(path)  # pyright: ignore[reportPrivateUsage]
    except EmendError:
        return None
    lines = (text or "").split("\n")
    if not lines[-1]:
        lines.pop()
    start, end = max(given[0], 1), len(lines) if given[1] < 0 else min(given[1], len(lines))
    room, shown = max_characters, 0
    for line in lines[start - 1 : end]:
        room -= len(line) + _NUMBER_CHARACTERS + 1
        if room < 0:
            # One line is always shown: there is no smaller view.
            return (start, start + max(shown, 1) - 1, end) if start + max(shown, 1) <= end else None
        shown += 1
    return None


def _is_range(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and len(given) == 2 and all(type(number) is int for number in given)
