"""OpenHands SDK: the executor of `file_editor`. `pip install "emendate[openhands]"`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openhands.sdk.tool import ToolExecutor, register_tool
from openhands.tools.file_editor.definition import FileEditorAction, FileEditorObservation, FileEditorTool

from emendate.adapters._questions import Approve, asked_and_answered
from emendate.errors import EmendError
from emendate.workspace import Session, Workspace

__all__ = ["EmendExecutor", "register"]

_PROFILE = "file_editor"
_NAME = "file_editor"


class EmendExecutor(ToolExecutor[FileEditorAction, FileEditorObservation]):
    """Runs commands of `file_editor` on the files of a session."""

    def __init__(self, session: Session, *, approve: Approve | None = None) -> None:
        """Edits through a session."""
        self.session, self._approve = session, approve

    def __call__(self, action: FileEditorAction, conversation: Any = None) -> FileEditorObservation:
        """Runs a command. An error is an observation that says which call works."""
        input = {name: value for name, value in action.model_dump(exclude={"kind"}).items() if value is not None}
        changes = action.command != "view"
        before = self._content(action.path) if changes else None
        if action.command == "create":
            input["overwrite"] = False
        reply = asked_and_answered(self.session, _NAME, input, _PROFILE, self._approve)
        shown: dict[str, Any] = {"command": action.command, "path": action.path}
        if reply.ok and changes:
            shown |= {"prev_exist": before is not None, "old_content": before, "new_content": self._content(action.path)}
        return FileEditorObservation.from_text(text=reply.text, is_error=not reply.ok, **shown)

    def _content(self, path: str) -> str | None:
        try:
            content = self.session.workspace.read_bytes(path)
        except EmendError:
            return None
        return None if content is None else content.decode(errors="replace")


def register(session: Session | None = None, *, approve: Approve | None = None) -> None:
    """Makes `file_editor` of later conversations use this package instead of its own editor.

    Without a session, each conversation gets one over its working directory.
    """

    class EmendFileEditorTool(FileEditorTool):
        """`file_editor` with the executor of this package."""

        name = FileEditorTool.name

        @classmethod
        def create(cls, conv_state: Any) -> Sequence[FileEditorTool]:
            """Makes the tool of a conversation."""
            own = session or Workspace(conv_state.workspace.working_dir).session()
            (tool,) = FileEditorTool.create(conv_state)
            return [tool.set_executor(EmendExecutor(own, approve=approve))]

    register_tool(FileEditorTool.name, EmendFileEditorTool)
