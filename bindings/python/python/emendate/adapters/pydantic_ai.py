"""Pydantic AI: a toolset. `pip install "emendate[pydantic-ai]"`."""

from __future__ import annotations

from typing import Any

from pydantic_ai import ApprovalRequired, ModelRetry, RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import BinaryContent, ToolReturn
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from emendate import workspace
from emendate.adapters._images import images
from emendate.adapters._questions import ACTIONABLE, OpenQuestions
from emendate.aio import AsyncSession

__all__ = ["EmendToolset"]

_ANY = SchemaValidator(core_schema.any_schema())


class EmendToolset(AbstractToolset[Any]):
    """The tools of a profile. A model may retry what it can correct; a rule that asks requires an approval.

    A refused call is a `ModelRetry` if the model can follow its advice, and `ToolFailed` otherwise. `access.ask` is
    `ApprovalRequired`, whose metadata is the question with the change of each file. An approval holds for that change
    only: if the file changed meanwhile, the call asks again.
    """

    def __init__(
        self, session: workspace.Session, *, profile: str = "default", id: str | None = None, max_retries: int = 3
    ) -> None:
        """Offers the tools of a profile to the agent of a session."""
        self._session, self._profile, self._id, self._max_retries = session, profile, id, max_retries
        self._questions = OpenQuestions()

    @property
    def id(self) -> str | None:
        """The id, if one was given."""
        return self._id

    async def get_instructions(self, ctx: RunContext[Any]) -> str:
        """The instructions of the profile."""
        return workspace.instructions(self._profile)

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools by name."""
        return {tool.name: self._tool(tool) for tool in self._session.tools(self._profile)}

    def _tool(self, tool: workspace.Tool) -> ToolsetTool[Any]:
        definition = ToolDefinition(
            name=tool.name, description=tool.description, parameters_json_schema=tool.input_schema
        )
        # The engine checks the arguments itself, and corrects what it can.
        return ToolsetTool(toolset=self, tool_def=definition, max_retries=self._max_retries, args_validator=_ANY)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Calls a tool."""
        session, call = self._session, ctx.tool_call_id or ""
        if ctx.tool_call_approved:
            session = self._questions.approved(session, call)
        reply = await AsyncSession(session).call(name, tool_args, profile=self._profile)
        if reply.error is None:
            attached = [BinaryContent(data, media_type=kind) for kind, data in images(reply)]
            return ToolReturn(reply.text, content=attached) if attached else reply.text
        if reply.question is not None:
            self._questions.keep(call, reply.question)
            raise ApprovalRequired(metadata=reply.question)
        if reply.error.remedy in ACTIONABLE:
            raise ModelRetry(reply.text)
        raise ToolFailed(reply.text)
