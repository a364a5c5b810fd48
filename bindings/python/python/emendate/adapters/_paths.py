"""Paths as a model sees them. The texts of files are left as they are: a model copies them."""

from __future__ import annotations

import re

from emendate.errors import EmendError
from emendate.workspace import Reply

# A line of a file in a reply: its number, perhaps marked as changed, and a tab or a colon.
_LINE = re.compile(r"[> ]*\d+[\t:]")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def shown(text: str, root: str, name: str) -> str:
    """Replaces the directory `root` by `name` in a text without texts of files. An empty `name` makes paths begin with
    `/`."""
    if not root:
        return text
    path = re.compile(rf"(?<![\w./-]){re.escape(root)}(/|(?![\w-]|\.[\w.-]))")
    return path.sub(lambda found: f"{name}/" if found[1] else name or "/", text)


def shown_reply(reply: Reply, root: str, name: str) -> str:
    """The text of a reply, with the directory `root` replaced in its paths."""
    if reply.error is not None:
        return shown_error(reply.error, root, name)
    lines = reply.text.split("\n")
    return "\n".join(line if _LINE.match(line) else shown(line, root, name) for line in lines)


def shown_error(error: EmendError, root: str, name: str) -> str:
    """The text of an error, with the directory `root` replaced in its paths."""
    # The roots are indented, where a line of a file could be.
    has_roots = error.code == "path.outside"
    evidence = [
        shown(line, root, name) if root and (has_roots or line.startswith(root)) else line
        for line in error.evidence.split("\n")
    ]
    message, next = _sentences(error.message, root, name), _sentences(error.next, root, name)
    return str(EmendError(error.code, message, "\n".join(evidence), next))


def _sentences(text: str, root: str, name: str) -> str:
    """Replaces a directory outside of strings, and in strings that begin with it: others may be texts of files."""
    parts: list[str] = []
    end = 0
    for string in _STRING.finditer(text):
        parts.append(shown(text[end : string.start()], root, name))
        quoted = string[0]
        parts.append(f'"{shown(quoted[1:-1], root, name)}"' if root and quoted.startswith(f'"{root}') else quoted)
        end = string.end()
    return "".join([*parts, shown(text[end:], root, name)])
