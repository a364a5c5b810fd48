"""Edits of text as models write them: exact, tolerant where that is safe, and refused with the next call that works.

`Workspace` and `Session` read, edit and undo files, on disk or in memory, and offer tools for models. Functions on text
need no files and share no state. All of them release the lock of the interpreter, so
threads run in parallel. Offsets are in bytes of UTF-8, and numbers of lines count line ends.

>>> import emendate
>>> emendate.edit("a = 1\\nb = 2\\n", "b = 2", "b = 3").text
'a = 1\\nb = 3\\n'
"""

from emendate import errors
from emendate._emendate import (
    Applied,
    AppliedFiles,
    ChangedFile,
    ChangedSpan,
    ChangeOutcome,
    EditPlacement,
    FileChangeOutcome,
    PatchText,
    ReadOutcome,
    TextDiff,
    UndoOutcome,
    __version__,
    apply,
    apply_files,
    convert,
    diff,
    edit,
    print_formats,
    similarity,
    text_formats,
)
from emendate.errors import EmendError
from emendate.workspace import ChangeOptions, Reply, Session, TextEdit, Tool, Workspace, instructions, profiles

__all__ = [
    "Applied",
    "AppliedFiles",
    "ChangeOptions",
    "ChangeOutcome",
    "ChangedFile",
    "ChangedSpan",
    "EditPlacement",
    "EmendError",
    "FileChangeOutcome",
    "PatchText",
    "ReadOutcome",
    "Reply",
    "Session",
    "TextDiff",
    "TextEdit",
    "Tool",
    "UndoOutcome",
    "Workspace",
    "__version__",
    "apply",
    "apply_files",
    "convert",
    "diff",
    "edit",
    "errors",
    "instructions",
    "print_formats",
    "profiles",
    "similarity",
    "text_formats",
]
