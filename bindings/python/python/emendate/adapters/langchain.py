"""LangChain: tools. `pip install "emendate[langchain]"`."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, ToolException
from pydantic import PrivateAttr

from emendate.adapters._questions import Approve, asked_and_answered
from emendate.aio import AsyncSession
from emendate.workspace import Reply, Session, Tool

__all__ = ["EmendTool", "tools"]


class EmendTool(BaseTool):
    """A tool of a profile. Its artifact is the data of the reply; a refused call is a message with the status `error`."""

    response_format: Any = "content_and_artifact"
    handle_tool_error: Any = True
    _session: Session = PrivateAttr()
    _profile: str = PrivateAttr()
    _approve: Approve | None = PrivateAttr()

    def __init__(self, session: Session, tool: Tool, profile: str, approve: Approve | None = None) -> None:
        """Offers a tool of a session."""
        super().__init__(
            name=tool.name,
            description=tool.description,
            args_schema=tool.input_schema,
            metadata={"title": tool.title, "read_only": tool.read_only},
        )
        self._session, self._profile, self._approve = session, profile, approve

    def _run(self, /, **input: Any) -> tuple[str, dict[str, Any]]:
        return _result(asked_and_answered(self._session, self.name, input, self._profile, self._approve))

    async def _arun(self, /, **input: Any) -> tuple[str, dict[str, Any]]:
        if self._approve is not None:
            # `interrupt` of LangGraph must run in the task itself, which it stops.
            return self._run(**input)
        return _result(await AsyncSession(self._session).call(self.name, input, profile=self._profile))


def _result(reply: Reply) -> tuple[str, dict[str, Any]]:
    if not reply.ok:
        raise ToolException(reply.text)
    return reply.text, reply.data


def tools(session: Session, profile: str = "default", *, approve: Approve | None = None) -> list[BaseTool]:
    """The tools of a profile.

    Where a rule asks for approval, `approve` is called with the question. With `langgraph.types.interrupt`, the graph
    stops there, and `Command(resume=True)` goes on.
    """
    return [EmendTool(session, tool, profile, approve) for tool in session.tools(profile)]
