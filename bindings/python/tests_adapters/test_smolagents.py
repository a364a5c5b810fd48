"""Tools in real agents whose model is scripted."""

from typing import Any

import pytest
from emendate import Workspace, profiles
from emendate.adapters.smolagents import tools
from smolagents import ChatMessage, CodeAgent, Model, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

EDIT = {"file_path": "/a.toml", "old_string": "x = 1", "new_string": "x = 2"}


class ScriptedModel(Model):
    """A model with scripted replies."""

    def __init__(self, *steps: Any) -> None:
        super().__init__()
        self.steps = list(steps)

    def generate(self, messages: Any, **options: Any) -> ChatMessage:
        step = self.steps.pop(0)
        if isinstance(step, str):
            return ChatMessage(role="assistant", content=f"<code>\n{step}\n</code>")
        function = ChatMessageToolCallFunction(name=step[0], arguments=step[1])
        call = ChatMessageToolCall(id="1", type="function", function=function)
        return ChatMessage(role="assistant", content="", tool_calls=[call])


@pytest.mark.parametrize("profile", profiles())
def test_every_profile_makes_valid_tools(profile: str) -> None:
    for tool in tools(Workspace(memory={}).session(), profile):
        assert tool.to_tool_calling_prompt() and tool.to_code_prompt()


def test_a_tool_calling_agent() -> None:
    workspace = Workspace(memory={"a.toml": "x = 1\n"})
    model = ScriptedModel(
        ("edit", EDIT), ("read", {"file_path": "/a.toml"}), ("edit", EDIT), ("final_answer", {"answer": "Done."})
    )
    agent = ToolCallingAgent(tools=tools(workspace.session()), model=model, verbosity_level=0)
    assert agent.run("Edit.") == "Done."
    assert workspace.read_text("a.toml") == "x = 2\n"
    assert "read" in str(agent.memory.steps[1].observations)


def test_code_may_leave_out_names_of_arguments() -> None:
    workspace = Workspace(memory={"a.toml": "x = 1\n"})
    code = 'print(read("/a.toml"))\nprint(edit("/a.toml", "x = 1", new_string="x = 2"))\nfinal_answer("Done.")'
    agent = CodeAgent(tools=tools(workspace.session()), model=ScriptedModel(code), verbosity_level=0)
    assert agent.run("Edit.") == "Done."
    assert workspace.read_text("a.toml") == "x = 2\n"
    edit = next(tool for tool in tools(workspace.session()) if tool.name == "edit")
    with pytest.raises(TypeError, match="twice"):
        edit("/a.toml", file_path="/a.toml")
    with pytest.raises(TypeError, match="arguments"):
        edit(*"x" * 99)


def test_a_field_named_self_is_a_field() -> None:
    edit = next(tool for tool in tools(Workspace(memory={"a.toml": "x = 1\n"}).session()) if tool.name == "edit")
    assert "self" in edit(**EDIT, self=1) and "self" in edit(**EDIT, self=1, sanitize_inputs_outputs=True)


@pytest.mark.parametrize("agrees", [True, False])
def test_a_code_agent_and_a_rule_that_asks(agrees: bool) -> None:
    workspace = Workspace(memory={"a.toml": "x = 1\n"}, config='[policy]\nask = ["Edit(*.toml)"]\n')
    given = tools(workspace.session(unread="allow"), approve=lambda question: agrees)
    model = ScriptedModel(f"print(edit(**{EDIT!r}))", 'final_answer("Done.")')
    agent = CodeAgent(tools=given, model=model, verbosity_level=0)
    assert agent.run("Edit.") == "Done."
    assert workspace.read_text("a.toml") == ("x = 2\n" if agrees else "x = 1\n")
