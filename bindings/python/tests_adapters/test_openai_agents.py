"""`apply_patch` and function tools in real runs whose model is scripted."""

import asyncio
from typing import Any

import pytest
from agents import Agent, ApplyPatchTool, Runner, RunResult, apply_diff
from agents.editor import ApplyPatchEditor, ApplyPatchOperation
from agents.testing.model import ScriptedModel, assistant_message, function_call
from emendate import Workspace
from emendate.adapters.openai_agents import PatchEditor, apply_patch_tool, function_tools

ASKING = '[policy]\nask = ["Edit(*.toml)"]\n'
DONE = [assistant_message("Done.")]


def patch(call: str, **operation: Any) -> Any:
    return [{"type": "apply_patch_call", "call_id": call, "status": "completed", "operation": operation}]


def run(workspace: Workspace, tools: list[Any], steps: list[Any]) -> tuple[Agent, RunResult]:
    agent = Agent(name="editor", model=ScriptedModel([*steps, DONE]), tools=tools)
    return agent, asyncio.run(Runner.run(agent, "Edit."))


def outputs(result: RunResult) -> list[Any]:
    return [item.raw_item for item in result.new_items if item.type == "tool_call_output_item"]


def test_the_editor_creates_updates_and_deletes() -> None:
    workspace = Workspace(memory={"a.py": "x = 1\ny = 2\n", "b.py": "b\n"})
    steps = [
        patch("1", type="create_file", path="sub/c.py", diff="+c\n+d\n"),
        patch("2", type="update_file", path="a.py", diff="@@\n-x = 1\n+x = 2\n y = 2\n"),
        patch("3", type="delete_file", path="b.py"),
        patch("4", type="update_file", path="a.py", diff="@@\n-nothing\n+x\n"),
    ]
    _, result = run(workspace, [apply_patch_tool(workspace.session(unread="allow"))], steps)
    assert [item["status"] for item in outputs(result)] == ["completed"] * 3 + ["failed"]
    refused = outputs(result)[3]["output"]
    assert "not in the file" in refused and "failed in the same way" not in refused
    assert workspace.files() == {"/a.py": b"x = 2\ny = 2\n", "/sub/c.py": b"c\nd\n"}


def test_the_editor_moves_a_file() -> None:
    workspace = Workspace(memory={"a.py": "x = 1\n"})
    editor = PatchEditor(workspace.session(unread="allow"))
    assert isinstance(editor, ApplyPatchEditor)
    operation = ApplyPatchOperation("update_file", "a.py", "@@\n-x = 1\n+x = 2\n", move_to="b.py")
    assert asyncio.run(editor.update_file(operation)).status == "completed"
    assert workspace.files() == {"/b.py": b"x = 2\n"}


def test_advice_names_no_tool_that_was_not_offered() -> None:
    editor = PatchEditor(Workspace(memory={"a.py": "x = 1\ny = 2\n"}).session(unread="allow"))
    operations = [
        ApplyPatchOperation("create_file", "a.py", "+x\n"),
        ApplyPatchOperation("update_file", "a.py", "@@\n-yy = 2\n+y = 3\n"),
        ApplyPatchOperation("update_file", "a.py", "@@\n-yy = 2\n+y = 3\n"),
        ApplyPatchOperation("delete_file", "gone"),
    ]
    said = [str(asyncio.run(getattr(editor, it.type)(it)).output) for it in operations]
    assert "do not send this call again" in said[2] and all("Next: " in text for text in said)
    for name in ("read_file", "write", "old_string", "overwrite", "ask a person"):
        assert name not in "".join(said)


def test_paths_stay_in_the_workspace(tmp_path: Any) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out.txt").write_text("x\n")
    editor = PatchEditor(Workspace(tmp_path / "in").session(unread="allow"))
    for path in ("../out.txt", str(tmp_path / "out.txt"), "a\n*** Delete File: b"):
        operation = ApplyPatchOperation("update_file", path, "@@\n-x\n+y\n")
        assert asyncio.run(editor.update_file(operation)).status == "failed"
    assert (tmp_path / "out.txt").read_text() == "x\n"


CHANGE = "@@\n-z = 4\n+z = 5\n"
FOREIGN = [
    ("update_file", "a.py", CHANGE + "*** Delete File: e\n"),
    ("update_file", "a.py", CHANGE + "*** Update File: e\n@@\n-keep\n+lost\n"),
    ("update_file", "a.py", CHANGE + "** remove file: e **\n*** Delete_File: `e`\n"),
    ("update_file", "a.py", CHANGE + "*** End Patch\n*** Begin Patch\n*** Delete File: e\n*** End Patch\n"),
    ("update_file", "a.py", "*** Move to: /b.py\n" + CHANGE),
    ("create_file", "n", "+a\n*** Delete File: e\n"),
    ("delete_file", "a.py\n*** Delete File: e", None),
    ("delete_file", "e ", None),
    ("delete_file", "`e`", None),
    ("delete_file", "e (deleted)", None),
    ("update_file", "a/a.py", CHANGE),
    ("update_file", "\ud83d", CHANGE),
]


@pytest.mark.parametrize(("kind", "path", "diff"), FOREIGN)
def test_an_operation_changes_only_its_own_file(kind: Any, path: str, diff: str | None) -> None:
    files = {"a.py": "z = 4\n", "e": "keep\n"} | ({"e ": "other\n"} if path == "e " else {})
    workspace = Workspace(memory=files)
    before, editor = workspace.files(), PatchEditor(workspace.session(unread="allow"))
    operation = ApplyPatchOperation(kind, path, diff)
    result = asyncio.run(getattr(editor, kind)(operation))
    assert result.status == "failed" and "Next: " in (result.output or "")
    assert workspace.files() == before


def test_a_directory_with_the_name_of_a_prefix_of_git() -> None:
    workspace = Workspace(memory={"a/x": "z = 4\n", "x": "z = 4\n"})
    editor = PatchEditor(workspace.session(unread="allow"))
    assert asyncio.run(editor.update_file(ApplyPatchOperation("update_file", "a/x", CHANGE))).status == "completed"
    assert workspace.files() == {"/a/x": b"z = 5\n", "/x": b"z = 4\n"}


def test_names_begin_at_the_directory_of_the_session(tmp_path: Any) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.py").write_text("z = 4\n")
    session = Workspace(tmp_path).session(unread="allow", directory=tmp_path / "sub")
    update = ApplyPatchOperation("update_file", "a.py", CHANGE)
    assert asyncio.run(PatchEditor(session).update_file(update)).status == "completed"
    assert (tmp_path / "sub/a.py").read_text() == "z = 5\n" and session.directory == str(tmp_path / "sub")


def test_advice_names_what_the_hosted_tool_has() -> None:
    workspace = Workspace(memory={"a.py": "z = 4\n"})
    editor = PatchEditor(workspace.session(unread="allow"))
    refused = asyncio.run(editor.create_file(ApplyPatchOperation("create_file", "a.py", "+x\n")))
    assert refused.status == "failed" and "overwrite" not in (refused.output or "")


CASES = [
    ("a\nb\nc\n", "@@\n a\n-b\n+B\n c\n"),
    ("def f():\n    a\n\ndef g():\n    a\n", "@@ def g():\n-    a\n+    b\n"),
    ("a\nb\n", "@@\n a\n b\n+c\n*** End of File\n"),
    ("a  \nb\n", "@@\n a\n-b\n+c\n"),
    ("x\n" * 40 + "end\n", "@@\n x\n-end\n+END\n"),
]


@pytest.mark.parametrize(("text", "diff"), CASES)
def test_diffs_give_what_the_reference_gives(text: str, diff: str) -> None:
    workspace = Workspace(memory={"a.py": text})
    editor = PatchEditor(workspace.session(unread="allow"))
    result = asyncio.run(editor.update_file(ApplyPatchOperation("update_file", "a.py", diff)))
    assert result.status == "completed", result.output
    assert workspace.read_text("a.py") == apply_diff(text, diff)


@pytest.mark.parametrize("approves", [True, False])
@pytest.mark.parametrize("kind", ["patch", "function"])
def test_a_rule_that_asks_interrupts_the_run(kind: str, approves: bool) -> None:
    workspace = Workspace(memory={"a.toml": "x = 1\n"}, config=ASKING)
    session = workspace.session(unread="allow")
    if kind == "patch":
        tools: list[Any] = [apply_patch_tool(session)]
        step = patch("1", type="update_file", path="a.toml", diff="@@\n-x = 1\n+x = 2\n")
    else:
        tools = function_tools(session)
        edit = {"file_path": "/a.toml", "old_string": "x = 1", "new_string": "x = 2"}
        step = [function_call("edit", edit, call_id="1")]
    agent, asked = run(workspace, tools, [step])
    (interruption,) = asked.interruptions
    assert workspace.read_text("a.toml") == "x = 1\n"
    state = asked.to_state()
    (state.approve if approves else state.reject)(interruption)
    done = asyncio.run(Runner.run(agent, state))
    assert done.final_output == "Done."
    assert workspace.read_text("a.toml") == ("x = 2\n" if approves else "x = 1\n")


def test_function_tools_read_and_edit() -> None:
    workspace = Workspace(memory={"a.py": "x = 1\n"})
    edit = {"file_path": "/a.py", "old_string": "x = 1", "new_string": "x = 2"}
    steps = [
        [function_call("Edit", edit, call_id="1")],
        [function_call("Read", {"file_path": "/a.py"}, call_id="2")],
        [function_call("Edit", edit, call_id="3")],
    ]
    _, result = run(workspace, function_tools(workspace.session(), "claude"), steps)
    assert "read" in outputs(result)[0]["output"] and workspace.read_text("a.py") == "x = 2\n"
    assert isinstance(apply_patch_tool(workspace.session()), ApplyPatchTool)
