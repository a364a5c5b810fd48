"""deepagents: a backend. `pip install "emendate[deepagents]"`."""

from __future__ import annotations

import base64
import posixpath
import re
from typing import Any

from deepagents.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents.backends.utils import EMPTY_CONTENT_WARNING

from emendate.adapters._patches import FORMAT, Section, half_of_a_character, patch
from emendate.adapters._paths import shown, shown_error
from emendate.errors import EmendError
from emendate.workspace import Session

__all__ = ["EmendBackend"]

_LIST_LIMIT = 100_000
# The profile with the names of the tools of deepagents.
_PROFILE = "deepagents"


def _check(text: str) -> None:
    """Raises `EmendError` for what a cut-off call of a model may have, and no file."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise half_of_a_character() from None


_MARK = b"\xef\xbb\xbf"


def _converted(before: bytes, after: bytes) -> str | None:
    """What of a file a write of other bytes would keep, so that the file would not have these bytes; `None` if nothing."""
    if before == after:
        return None
    try:
        before.decode()
    except UnicodeDecodeError:
        return "another encoding"
    if before.startswith(_MARK) != after.startswith(_MARK):
        return "a byte order mark" if before.startswith(_MARK) else "no byte order mark"
    ends = [set(re.findall(rb"\r\n|\n|\r", content)) for content in (before, after)]
    return "other line ends" if all(ends) and len(ends[0] | ends[1]) > 1 else None


class EmendBackend(BackendProtocol):
    """The files of a session as a backend: edits tolerate what is safe, and errors say which call works.

    Paths begin with `/`, which is the first directory of the workspace. A file must be read before it is edited, unless
    the session has `unread="allow"`.
    """

    def __init__(self, session: Session) -> None:
        """Reads and edits through a session."""
        self._session = session._for_profile(_PROFILE)  # pyright: ignore[reportPrivateUsage]
        self._root = session.workspace.roots[0].rstrip("/")

    def _path(self, path: str) -> str:
        _check(path)
        return f"{self._root}/{path.lstrip('/')}"

    def _shown(self, error: EmendError) -> str:
        return shown_error(error, self._root, "")

    def _listed(self, path: str, **fields: Any) -> tuple[list[str], bool]:
        input = {"path": self._path(path), "hidden": True, "no_ignore": True, "limit": _LIST_LIMIT, **fields}
        reply = self._session.call("ls", input, profile=_PROFILE)
        if reply.error is not None:
            raise reply.error
        base = posixpath.normpath("/" + path.strip("/"))
        return [f"{base.rstrip('/')}/{entry}" for entry in reply.data["entries"]], bool(reply.data.get("truncated"))

    def ls(self, path: str) -> LsResult:
        """Lists a directory."""
        try:
            entries, _ = self._listed(path, depth=1)
        except EmendError as error:
            return LsResult(error=self._shown(error))
        return LsResult(entries=[FileInfo(path=entry, is_dir=entry.endswith("/")) for entry in entries])

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Finds files by a pattern: without `/`, in any directory below `path`."""
        if ".." in pattern.split("/"):
            return GlobResult(error="A pattern must not contain `..`.")
        try:
            entries, truncated = self._listed(path or "/", glob=[pattern])
        except EmendError as error:
            return GlobResult(error=self._shown(error))
        found = [FileInfo(path=entry, is_dir=False) for entry in entries]
        return GlobResult(matches=found, truncated=truncated, truncation_reason="budget" if truncated else None)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """Finds lines that contain a text."""
        try:
            base = self._path(path or "/")
        except EmendError as error:
            return GrepResult(error=self._shown(error))
        input: dict[str, Any] = {"pattern": pattern, "path": base, "literal": True, "hidden": True}
        input |= {"glob": [glob]} if glob else {}
        input |= {"limit": max(max_count, 1)} if max_count is not None else {"limit": _LIST_LIMIT}
        reply = self._session.call("grep", input, profile=_PROFILE)
        if reply.error is not None:
            return GrepResult(error=self._shown(reply.error))
        try:
            matches = [match for file in reply.data.get("files", []) for match in self._matches(file)]
        except EmendError as error:
            return GrepResult(error=self._shown(error))
        return GrepResult(matches=matches[:max_count], truncated=bool(reply.data.get("truncated")))

    def _matches(self, file: dict[str, Any]) -> list[GrepMatch]:
        # Hits are lines of the decoded text.
        lines = (self._session._text(file["filePath"]) or "").split("\n")  # pyright: ignore[reportPrivateUsage]
        name = shown(file["filePath"], self._root, "")
        return [GrepMatch(path=name, line=line, text=lines[line - 1]) for line in file["hits"] if line <= len(lines)]

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Reads lines; they count as read."""
        start = max(offset, 0) + 1
        if limit <= 0:
            return ReadResult(file_data={"content": "", "encoding": "utf-8"}, no_lines_requested=True)
        try:
            path = self._path(file_path)
        except EmendError as error:
            return ReadResult(error=self._shown(error))
        try:
            read = self._session.read(path) if start == 1 else None
            if read is None or read.total_lines > limit:
                read = self._session.read(path, start, start + limit - 1)
        except EmendError as error:
            if error.code == "content.binary":
                content = self._session.workspace.read_bytes(path) or b""
                return ReadResult(file_data={"content": base64.b64encode(content).decode(), "encoding": "base64"})
            return ReadResult(error=self._shown(error))
        if read.total_lines == 0:
            return ReadResult(file_data={"content": EMPTY_CONTENT_WARNING, "encoding": "utf-8"})
        return ReadResult(
            file_data={"content": read.text, "encoding": "utf-8"},
            total_lines=read.total_lines,
            start_line=read.start,
            end_line=read.end,
            next_offset=read.end if read.end < read.total_lines else None,
        )

    def write(self, file_path: str, content: str) -> WriteResult:
        """Writes a file. An existing one must have been read."""
        try:
            _check(content)
            self._session.write(self._path(file_path), content)
        except EmendError as error:
            return WriteResult(error=self._shown(error))
        return WriteResult(path=file_path)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replaces a text."""
        try:
            _check(old_string)
            _check(new_string)
            done = self._session.edit(self._path(file_path), old_string, new_string, replace_all=replace_all)
        except EmendError as error:
            return EditResult(error=self._shown(error))
        return EditResult(path=file_path, occurrences=done.places)

    def delete(self, file_path: str) -> DeleteResult:
        """Deletes a file, or all files below a directory: all or none."""
        try:
            path = self._path(file_path)
            if self._is_file(path):
                files = [path]
            else:
                files = [self._path(entry) for entry in self._listed(file_path)[0]]
            if not files:
                return DeleteResult(error=f"There are no files in {file_path}.")
            self._session.apply(patch(Section("Delete", file) for file in files), format=FORMAT)
        except EmendError as error:
            return DeleteResult(error=self._shown(error))
        return DeleteResult(path=file_path)

    def _is_file(self, path: str) -> bool:
        try:
            return self._session.workspace.read_bytes(path) is not None
        except EmendError:
            return False

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Writes files of the program; texts in UTF-8 only.

        A file in whose encoding or line ends its new content would be converted is not replaced.
        """
        return [FileUploadResponse(path=path, error=self._upload(path, content)) for path, content in files]

    def _upload(self, path: str, content: bytes) -> str | None:
        try:
            full = self._path(path)
            text = content.decode()
            if self._is_file(full):
                self._session.read(full)
                before = self._session.workspace.read_bytes(full)
                if before is not None and (why := _converted(before, content)):
                    return f"{path} has {why}, and the upload would be converted. Delete the file first to replace it."
            self._session.write(full, text)
        except UnicodeDecodeError:
            return "The file is not UTF-8."
        except EmendError as error:
            return self._shown(error)
        return None

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Returns contents of files."""
        return [self._download(path) for path in paths]

    def _download(self, path: str) -> FileDownloadResponse:
        try:
            content = self._session.workspace.read_bytes(self._path(path))
        except EmendError as error:
            return FileDownloadResponse(path=path, error=self._shown(error))
        return FileDownloadResponse(path=path, content=content, error=None if content is not None else "file_not_found")
