"""OpenAI Agents SDK: the editor of `apply_patch`, and function tools. `pip install "emendate[openai-agents]"`."""

from __future__ import annotations

from typing import Any

from agents import ApplyPatchTool, FunctionTool, RunContextWrapper
from agents.editor import ApplyPatchOperation, ApplyPatchResult
from agents.tool_context import ToolContext

from emendate.adapters._patches import FORMAT, Section, patch, require_file
from emendate.adapters._questions import OpenQuestions
from emendate.aio import AsyncSession
from emendate.errors import EmendError
from emendate.workspace import Session, Tool

__all__ = ["PatchEditor", "apply_patch_tool", "function_tools"]

# A model with the hosted tool may have no other.
_PROFILE = "hosted_apply_patch"
_TOOL = "apply_patch"
_VERBS = {"create_file": "Add", "update_file": "Update", "delete_file": "Delete"}


class PatchEditor:
    """An `ApplyPatchEditor`: operations of a hosted `apply_patch`, applied to the files of a session.

    Paths are relative to the first directory of the workspace. An operation changes the file of its `path` (and
    `move_to`) and no other, so a program may decide by them; lines of `diff` that name another file are refused. A
    refused operation has the status `failed`, and its output is the error with the next call that works.
    """

    def __init__(self, session: Session) -> None:
        """Edits through a session. One with `unread="allow"` edits files that it has not read."""
        self._session = session
        self._questions = OpenQuestions()

    async def create_file(self, operation: ApplyPatchOperation) -> ApplyPatchResult:
        """Creates a file."""
        return await self._apply(operation)

    async def update_file(self, operation: ApplyPatchOperation) -> ApplyPatchResult:
        """Edits a file, and moves it if the operation says so."""
        return await self._apply(operation)

    async def delete_file(self, operation: ApplyPatchOperation) -> ApplyPatchResult:
        """Deletes a file."""
        return await self._apply(operation)

    async def needs_approval(
        self, context: RunContextWrapper[Any], operation: ApplyPatchOperation, call_id: str
    ) -> bool:
        """True if a rule asks for approval. It holds for the change of the files as they are now."""
        try:
            input = self._input(operation)
        except EmendError:
            return False
        return self._questions.needed(self._session, input["input"], _TOOL, input, _PROFILE)

    async def _apply(self, operation: ApplyPatchOperation) -> ApplyPatchResult:
        try:
            input = self._input(operation)
        except EmendError as error:
            return ApplyPatchResult(status="failed", output=str(error))
        session = self._questions.approved(self._session, input["input"])
        reply = await AsyncSession(session).call(_TOOL, input, profile=_PROFILE)
        return ApplyPatchResult(status="completed" if reply.ok else "failed", output=reply.text)

    def _input(self, operation: ApplyPatchOperation) -> dict[str, str]:
        """The whole patch of an operation, whose `diff` is only its body.

        Raises `EmendError` if it names another file than the operation, which is all that a program knows of it.
        """
        body = operation.diff if operation.type != "delete_file" else None
        text = patch([Section(_VERBS[operation.type], operation.path, operation.move_to, body or "")])
        if operation.type != "create_file":
            require_file(self._session, operation.path)
        return {"input": text, "format": FORMAT}


def apply_patch_tool(session: Session) -> ApplyPatchTool:
    """The hosted tool `apply_patch` over the files of a session; rules that ask interrupt the run for an approval."""
    editor = PatchEditor(session)
    return ApplyPatchTool(editor=editor, needs_approval=editor.needs_approval)


def function_tools(session: Session, profile: str = "default") -> list[FunctionTool]:
    """The tools of a profile as function tools; rules that ask interrupt the run for an approval."""
    questions = OpenQuestions()
    return [_function_tool(session, tool, profile, questions) for tool in session.tools(profile)]


def _function_tool(session: Session, tool: Tool, profile: str, questions: OpenQuestions) -> FunctionTool:
    async def invoke(context: ToolContext[Any], input: str) -> str:
        approved = questions.approved(session, context.tool_call_id)
        return (await AsyncSession(approved).call(tool.name, input, profile=profile)).text

    async def needs_approval(context: RunContextWrapper[Any], input: dict[str, Any], call_id: str) -> bool:
        return not tool.read_only and questions.needed(session, call_id, tool.name, input, profile)

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.input_schema,
        on_invoke_tool=invoke,
        # Strict schemas have no optional fields.
        strict_json_schema=False,
        needs_approval=needs_approval,
    )
