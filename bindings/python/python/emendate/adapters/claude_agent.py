"""Claude Agent SDK: a server in this process. `pip install "emendate[claude-agent]"`."""

from __future__ import annotations

from typing import Any, TypedDict

from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool, create_sdk_mcp_server
from claude_agent_sdk import tool as sdk_tool
from mcp.types import ToolAnnotations

from emendate.adapters._images import attachments
from emendate.adapters._questions import Approve, asked_and_answered
from emendate.aio import AsyncSession
from emendate.workspace import Session, Tool

__all__ = ["Options", "options", "server"]

_NAME = "emend"
_REPLACED = ["Read", "Edit", "MultiEdit", "Write", "NotebookEdit"]


class Options(TypedDict):
    """Arguments of `ClaudeAgentOptions`."""

    mcp_servers: dict[str, McpSdkServerConfig]
    allowed_tools: list[str]
    disallowed_tools: list[str]


def server(
    session: Session, profile: str = "claude", *, name: str = _NAME, approve: Approve | None = None
) -> McpSdkServerConfig:
    """A server with the tools of a profile. Where a rule asks for approval, `approve` runs in a thread."""
    tools = [_tool(session, tool, profile, approve) for tool in session.tools(profile)]
    return create_sdk_mcp_server(name, tools=tools)


def options(session: Session, profile: str = "claude", *, approve: Approve | None = None) -> Options:
    """Arguments of `ClaudeAgentOptions` that replace the client's own tools for files by those of a session."""
    names = [tool.name for tool in session.tools(profile)]
    return {
        "mcp_servers": {_NAME: server(session, profile, approve=approve)},
        "allowed_tools": [f"mcp__{_NAME}__{name}" for name in names],
        "disallowed_tools": list(_REPLACED),
    }


def _tool(session: Session, tool: Tool, profile: str, approve: Approve | None) -> SdkMcpTool[Any]:
    async def handle(input: dict[str, Any]) -> dict[str, Any]:
        reply = await AsyncSession(session).run(asked_and_answered, tool.name, input, profile, approve)
        content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}]
        content += [
            {"type": "image", "mimeType": kind, "data": data}
            for kind, data in attachments(reply)
            if kind.startswith("image/")
        ]
        return {"content": content, "is_error": not reply.ok}

    # Fields that the schema lacks are the engine's to judge, which knows what they mean.
    schema = {key: value for key, value in tool.input_schema.items() if key != "additionalProperties"}
    hints = ToolAnnotations.model_validate(
        {
            "title": tool.title,
            "readOnlyHint": tool.read_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.idempotent,
            "openWorldHint": False,
        }
    )
    return sdk_tool(tool.name, tool.description, schema, annotations=hints)(handle)
