"""Patches that adapters build from what a model sent, each for its own files and for no other."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from emendate import _emendate
from emendate.errors import EmendError, error_of
from emendate.workspace import Session

__all__ = ["FORMAT", "Section", "half_of_a_character", "patch", "require_file"]

FORMAT = "apply_patch"
_QUOTES = ("`", "'", '"')


@dataclass(frozen=True)
class Section:
    """The part of a patch about one file."""

    verb: str
    """`Add`, `Update` or `Delete`."""
    path: str
    to: str | None = None
    """The path to which the file is moved."""
    body: str = ""
    """The lines of the change."""

    def lines(self) -> list[str]:
        """The lines of the patch."""
        moved = [f"*** Move to: {_in_header(self.to)}"] if self.to else []
        body = [self.body.removesuffix("\n")] if self.body else []
        return [f"*** {self.verb} File: {_in_header(self.path)}", *moved, *body]


def _whole(path: str) -> str:
    """A name of which no directory is taken for a prefix such as `a/` of git."""
    return f"./{path}" if re.match(r"\w/", path) else path


def _in_header(path: str) -> str:
    """A name as a header has it: in quotes if the parser would take a part of it for what models put around names."""
    name = _whole(path)
    if name.endswith("**") or (name[:1] in _QUOTES and name[:1] == name[-1:]):
        quote = next((quote for quote in "`'" if quote not in name), "")
        return f"{quote}{name}{quote}"
    return name


def patch(sections: Iterable[Section]) -> str:
    """The text of a patch.

    Raises `EmendError` if it would change another file than its sections name: the text is read by the parser that
    applies it, which takes lines of a body for headers, and ends a name where its line and its quotes end.
    """
    rows = list(sections)
    text = "\n".join(["*** Begin Patch", *(line for row in rows for line in row.lines()), "*** End Patch", ""])
    named = {_whole(name) for row in rows for name in (row.path, row.to) if name}
    try:
        others = _emendate.named_files(text, FORMAT) - named
    except UnicodeEncodeError:
        raise half_of_a_character() from None
    if others:
        shown = ", ".join(map(repr, sorted(others)))
        raise _invalid(
            f"A patch for {', '.join(map(repr, sorted(named)))} would change {shown}. Nothing was written.",
            "Send one operation for each file, with the lines of its change alone; and a path without quotes, control"
            " characters, and blanks at its ends.",
        )
    return text


def require_file(session: Session, path: str) -> None:
    """Raises `EmendError` if there is no such file: a patch would also find one under another spelling of its name."""
    try:
        # The directory of the session, if it has one, or else that of the workspace.
        is_there = session.workspace.read_bytes(os.path.join(session.directory or "", path)) is not None
    except EmendError as error:
        # The patch is refused for the same reason, or edits what programs cannot read.
        is_there = error.code != "file.not_found"
    if not is_there:
        raise error_of("file.not_found", "File does not exist.", path, "Check the path.", "{}")


def half_of_a_character() -> EmendError:
    """The error for a text with a lone surrogate, which no file and no name has."""
    return _invalid(
        "The text has half of a character (a lone surrogate, such as \\ud83d).",
        "Send the whole character, or leave it out.",
    )


def _invalid(message: str, next: str) -> EmendError:
    return error_of("call.invalid", message, "", next, "{}")
