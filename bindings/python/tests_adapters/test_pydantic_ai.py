"""The toolset in a real agent whose model is scripted."""

import asyncio
from collections.abc import Callable

import pytest
from emendate import Workspace
from emendate.adapters.pydantic_ai import EmendToolset
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

READ = ToolCallPart("read", {"file_path": "/a.toml"})
EDIT = ToolCallPart("edit", {"file_path": "/a.toml", "old_string": "x = 1", "new_string": "x = 2"})
WRONG = ToolCallPart("edit", {"file_path": "/a.toml", "old_string": "nothing", "new_string": "x = 2"})


def agent(workspace: Workspace, calls: list[ToolCallPart], seen: list[ModelMessage]) -> Agent:
    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen[:] = messages
        return ModelResponse(parts=[calls.pop(0) if calls else TextPart("Done.")])

    toolset = EmendToolset(workspace.session("agent"))
    return Agent(FunctionModel(reply), toolsets=[toolset], output_type=[str, DeferredToolRequests])


def parts(seen: list[ModelMessage], kind: type) -> list:
    return [part for message in seen for part in message.parts if isinstance(part, kind)]


def test_a_model_corrects_a_refused_call() -> None:
    workspace, seen = Workspace(memory={"a.toml": "x = 1\n"}), []
    result = agent(workspace, [EDIT, READ, WRONG, EDIT], seen).run_sync("Set x to 2.")
    assert result.output == "Done." and workspace.read_text("a.toml") == "x = 2\n"
    unread, read, wrong, edited = parts(seen, ToolReturnPart)
    assert [part.outcome for part in (unread, read, wrong, edited)] == ["retried", "success", "retried", "success"]
    assert "read" in unread.content and "nothing" in wrong.content
    assert any("Put several changes" in (message.instructions or "") for message in seen if message.kind == "request")


def test_what_no_model_can_correct_is_a_failure() -> None:
    workspace, seen = Workspace(memory={"a.toml": "x = 1\n"}, config='[policy]\ndeny = ["*.toml"]\n'), []
    assert agent(workspace, [READ], seen).run_sync("Read.").output == "Done."
    (failed,) = parts(seen, ToolReturnPart)
    assert failed.outcome == "failed" and "a.toml" in str(failed.content)


@pytest.mark.parametrize(
    ("answer", "text"), [(lambda: ToolApproved(), "x = 2\n"), (lambda: ToolDenied("No."), "x = 1\n")], ids=["yes", "no"]
)
def test_a_rule_that_asks_needs_an_approval(answer: Callable[[], object], text: str) -> None:
    workspace, seen = Workspace(memory={"a.toml": "x = 1\n"}, config='[policy]\nask = ["Edit(*.toml)"]\n'), []
    made = agent(workspace, [READ, EDIT], seen)
    asked = made.run_sync("Set x to 2.")
    assert isinstance(asked.output, DeferredToolRequests) and workspace.read_text("a.toml") == "x = 1\n"
    (call,) = asked.output.approvals
    assert asked.output.metadata[call.tool_call_id]["files"][0]["filePath"] == "/a.toml"
    answers = DeferredToolResults(approvals={call.tool_call_id: answer()})
    done = made.run_sync(message_history=asked.all_messages(), deferred_tool_results=answers)
    assert done.output == "Done." and workspace.read_text("a.toml") == text


def test_an_approval_holds_for_the_change_that_was_shown() -> None:
    workspace, seen = Workspace(memory={"a.toml": "x = 1\ny = 1\n"}, config='[policy]\nask = ["Edit(*.toml)"]\n'), []
    made = agent(workspace, [READ, EDIT], seen)
    asked = asyncio.run(made.run("Set x to 2."))
    (call,) = asked.output.approvals
    other = workspace.session(unread="allow")
    with pytest.raises(Exception) as caught:
        other.edit("a.toml", "y = 1", "y = 2")
    other.approved(caught.value.data["question"]["seal"]).edit("a.toml", "y = 1", "y = 2")
    answers = DeferredToolResults(approvals={call.tool_call_id: True})
    again = made.run_sync(message_history=asked.all_messages(), deferred_tool_results=answers)
    assert isinstance(again.output, DeferredToolRequests) and workspace.read_text("a.toml") == "x = 1\ny = 2\n"
