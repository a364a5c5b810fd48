"""The server as the SDK's client calls it."""

import asyncio
from typing import Any

import pytest
from emendate import Workspace
from emendate.adapters.claude_agent import options, server
from mcp import Client

EDIT = {"file_path": "/a.toml", "old_string": "x = 1", "new_string": "x = 2"}


def called(workspace: Workspace, approve: Any, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    async def main() -> list[Any]:
        made = server(workspace.session(), approve=approve)
        async with Client(made["instance"]) as client:
            return [await client.call_tool(name, input) for name, input in calls]

    return asyncio.run(main())


def test_tools_edit_and_refuse() -> None:
    workspace = Workspace(memory={"a.toml": "x = 1\n"})
    calls = [("Edit", EDIT), ("Read", {"file_path": "/a.toml"}), ("Edit", {**EDIT, "unknown": 1})]
    refused, read, edited = called(workspace, None, *calls)
    assert refused.is_error and "read" in refused.content[0].text
    assert not read.is_error and not edited.is_error
    assert workspace.read_text("a.toml") == "x = 2\n"


@pytest.mark.parametrize("agrees", [True, False])
def test_a_rule_that_asks_calls_the_program(agrees: bool) -> None:
    workspace = Workspace(memory={"a.toml": "x = 1\n"}, config='[policy]\nask = ["Edit(*.toml)"]\n')
    _, edited = called(workspace, lambda question: agrees, ("Read", {"file_path": "/a.toml"}), ("Edit", EDIT))
    assert edited.is_error is not agrees
    assert workspace.read_text("a.toml") == ("x = 2\n" if agrees else "x = 1\n")


def test_options_replace_the_own_tools() -> None:
    made = options(Workspace(memory={}).session())
    assert set(made["allowed_tools"]) == {
        f"mcp__emend__{name}" for name in ("Read", "Edit", "MultiEdit", "Write", "NotebookEdit")
    }

    async def listed() -> Any:
        async with Client(made["mcp_servers"]["emend"]["instance"]) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asyncio.run(listed())}
    assert tools["Read"].annotations.read_only_hint and "old_string" in str(tools["Edit"].input_schema)
