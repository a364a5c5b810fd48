"""Edits of text as models write them: exact, tolerant where that is safe, and refused with the next call that works.

Functions on text need no files and share no state. They release the lock of the interpreter, so threads run in parallel.
Offsets are in bytes of UTF-8, and numbers of lines count line ends.

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
    PatchText,
    TextDiff,
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

__all__ = [
    "Applied",
    "AppliedFiles",
    "ChangedFile",
    "ChangedSpan",
    "EmendError",
    "PatchText",
    "TextDiff",
    "__version__",
    "apply",
    "apply_files",
    "convert",
    "diff",
    "edit",
    "errors",
    "print_formats",
    "similarity",
    "text_formats",
]
