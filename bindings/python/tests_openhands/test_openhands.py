"""`file_editor` in real conversations whose model is scripted."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from emendate import Workspace
from emendate.adapters.openhands import EmendExecutor, register
from openhands.sdk import Agent, Conversation, Message, TextContent, Tool
from openhands.sdk.llm import MessageToolCall
from openhands.sdk.testing import TestLLM
from openhands.tools.file_editor.definition import FileEditorAction, FileEditorObservation

PAGE = Path(__file__).resolve().parents[3] / "docs/adapters/openhands.md"


def test_the_program_of_the_page_runs() -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    exec(compile(program, str(PAGE), "exec"), {"__name__": "__main__"})


def call(id: str, **fields: Any) -> Message:
    made = MessageToolCall(id=id, name="file_editor", arguments=json.dumps(fields), origin="completion")
    return Message(role="assistant", content=[TextContent(text="")], tool_calls=[made])


def observed(directory: Path, *calls: Message) -> list[FileEditorObservation]:
    register()
    done = Message(role="assistant", content=[TextContent(text="Done.")])
    agent = Agent(llm=TestLLM.from_messages([*calls, done]), tools=[Tool(name="file_editor")])
    conversation = Conversation(agent=agent, workspace=str(directory), visualizer=None)
    conversation.send_message("Edit.")
    conversation.run()
    events = [getattr(event, "observation", None) for event in conversation.state.events]
    return [event for event in events if isinstance(event, FileEditorObservation)]


def test_a_conversation_edits_a_real_file(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    edit = {"command": "str_replace", "path": str(file), "old_str": "x = 1", "new_str": "x = 2"}
    refused, viewed, edited, inserted, undone, exists, created = observed(
        tmp_path,
        call("1", **edit),
        call("2", command="view", path=str(file)),
        call("3", **edit),
        call("4", command="insert", path=str(file), insert_line=1, new_str="y = 3\n"),
        call("5", command="undo_edit", path=str(file)),
        call("6", command="create", path=str(file), file_text="z\n"),
        call("7", command="create", path=str(tmp_path / "new.py"), file_text="new\n"),
    )
    assert refused.is_error and not viewed.is_error and exists.is_error
    assert (edited.old_content, edited.new_content, edited.prev_exist) == ("x = 1\n", "x = 2\n", True)
    assert (inserted.new_content, undone.new_content) == ("x = 2\ny = 3\n", "x = 2\n")
    assert not created.prev_exist and (tmp_path / "new.py").read_text() == "new\n"
    assert file.read_text() == "x = 2\n"


@pytest.mark.parametrize("agrees", [True, False])
def test_a_rule_that_asks_calls_the_program(agrees: bool) -> None:
    workspace = Workspace(memory={"a.toml": "x = 1\n"}, config='[policy]\nask = ["Edit(*.toml)"]\n')
    executor = EmendExecutor(workspace.session(unread="allow"), approve=lambda question: agrees)
    action = FileEditorAction(command="str_replace", path="/a.toml", old_str="x = 1", new_str="x = 2")
    assert executor(action).is_error is not agrees
    assert workspace.read_text("a.toml") == ("x = 2\n" if agrees else "x = 1\n")
