"""The text editor and the memory tool in the SDK's runner, over a transport that replaces the service."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic, AsyncAnthropic
from emendate import Workspace, errors
from emendate.adapters.anthropic import AsyncTextEditor, Memory, TextEditor, tools

ASKING = '[policy]\nask = ["Edit(*.toml)"]\n'
EDITOR = "str_replace_based_edit_tool"


class Service:
    """Replies with one call of a tool after the other, and keeps the results."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self.calls, self.sent = list(calls), 0
        self.results: list[dict[str, Any]] = []
        self.tools: list[dict[str, Any]] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        # Later requests of a thread only have what is new.
        self.tools = body.get("tools", self.tools)
        last = body["messages"][-1]["content"]
        self.results += [block for block in last if isinstance(block, dict) and block["type"] == "tool_result"]
        content: list[dict[str, Any]] = [{"type": "text", "text": "Done."}]
        if self.calls:
            name, input = self.calls.pop(0)
            self.sent += 1
            content = [{"type": "tool_use", "id": f"call-{self.sent}", "name": name, "input": input}]
        stop = "tool_use" if content[0]["type"] == "tool_use" else "end_turn"
        message = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": content}
        usage = {"input_tokens": 1, "output_tokens": 1}
        return httpx2.Response(200, json={**message, "stop_reason": stop, "stop_sequence": None, "usage": usage})

    async def later(self, request: httpx2.Request) -> httpx2.Response:
        return self(request)

    def run(self, given: list[Any]) -> None:
        client = Anthropic(api_key="test", http_client=httpx2.Client(transport=httpx2.MockTransport(self)))
        question: Any = [{"role": "user", "content": "Edit."}]
        client.beta.messages.tool_runner(max_tokens=9, model="claude", messages=question, tools=given).until_done()


def test_the_editor_edits_a_real_file(tmp_path: Any) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    edit = {"command": "str_replace", "path": str(file), "old_str": "x = 1", "new_str": "x = 2"}
    insert = {"command": "insert", "path": str(file), "insert_line": 1, "insert_text": "y = 3\n"}
    service = Service((EDITOR, edit), (EDITOR, {"command": "view", "path": str(file)}), (EDITOR, edit), (EDITOR, insert))
    service.run([TextEditor(Workspace(tmp_path).session(), max_characters=5000)])
    assert service.tools == [{"type": "text_editor_20250728", "name": EDITOR, "max_characters": 5000}]
    assert [bool(result.get("is_error")) for result in service.results] == [True, False, False, False]
    assert "read" in str(service.results[0]["content"])
    assert file.read_text() == "x = 2\ny = 3\n"


def test_the_asynchronous_editor() -> None:
    workspace = Workspace(memory={"a.py": "x = 1\n"})
    service = Service((EDITOR, {"command": "create", "path": "/b.py", "file_text": "b\n"}))

    async def main() -> None:
        transport = httpx2.AsyncClient(transport=httpx2.MockTransport(service.later))
        client = AsyncAnthropic(api_key="test", http_client=transport)
        question: Any = [{"role": "user", "content": "Edit."}]
        editor = AsyncTextEditor(workspace.session())
        runner = client.beta.messages.tool_runner(max_tokens=9, model="claude", messages=question, tools=[editor])
        await runner.until_done()

    asyncio.run(main())
    assert workspace.read_text("b.py") == "b\n"


@pytest.mark.parametrize("agrees", [True, False, None])
def test_a_rule_that_asks_calls_the_program(agrees: bool | None) -> None:
    workspace = Workspace(memory={"a.toml": "x = 1\n"}, config=ASKING)
    asked: list[Any] = []

    def approve(question: dict[str, Any]) -> bool:
        asked.append(question["files"][0]["filePath"])
        return bool(agrees)

    edit = {"command": "str_replace", "path": "/a.toml", "old_str": "x = 1", "new_str": "x = 2"}
    service = Service((EDITOR, edit))
    session = workspace.session(unread="allow")
    service.run([TextEditor(session, approve=None if agrees is None else approve)])
    assert asked == ([] if agrees is None else ["/a.toml"])
    assert workspace.read_text("a.toml") == ("x = 2\n" if agrees else "x = 1\n")
    assert bool(service.results[0].get("is_error")) is not bool(agrees)


@pytest.mark.parametrize("on_disk", [True, False])
def test_memories(on_disk: bool, tmp_path: Any) -> None:
    workspace = Workspace(tmp_path) if on_disk else Workspace(memory={})
    memory, kept = Memory(workspace), "kept/a.md" if on_disk else "memories/kept/a.md"
    service = Service(
        ("memory", {"command": "view", "path": "/memories"}),
        ("memory", {"command": "create", "path": "/memories/notes/a.md", "file_text": "one\ntwo\n"}),
        ("memory", {"command": "create", "path": "/memories/notes/a.md", "file_text": "other\n"}),
        ("memory", {"command": "str_replace", "path": "/memories/notes/a.md", "old_str": "two", "new_str": "2"}),
        ("memory", {"command": "insert", "path": "/memories/notes/a.md", "insert_line": 0, "insert_text": "zero\n"}),
        ("memory", {"command": "view", "path": "/memories/notes/a.md"}),
        ("memory", {"command": "view", "path": "/memories"}),
        ("memory", {"command": "rename", "old_path": "/memories/notes", "new_path": "/memories/kept"}),
        ("memory", {"command": "view", "path": "/memories/../etc/passwd"}),
        ("memory", {"command": "view", "path": "/etc/passwd"}),
        ("memory", {"command": "delete", "path": "/memories"}),
        ("memory", {"command": "delete", "path": "/memories/kept/a.md "}),
        ("memory", {"command": "create", "path": "/memories/a\n*** Delete File: kept/a.md", "file_text": "x\n"}),
    )
    service.run([memory])
    assert service.tools == [{"type": "memory_20250818", "name": "memory"}]
    failed = [bool(result.get("is_error")) for result in service.results]
    assert failed == [False, False, True, *[False] * 5, *[True] * 5], service.results
    texts = [str(result["content"]) for result in service.results]
    assert "zero" in texts[5] and "/memories/notes/a.md" in texts[6] and str(tmp_path) not in "".join(texts)
    assert workspace.read_text(kept) == "zero\none\n2\n"
    Service(("memory", {"command": "delete", "path": "/memories/kept"})).run([memory])
    assert workspace.read_bytes(kept) is None
    memory.session.undo()
    assert workspace.read_text(kept) == "zero\none\n2\n"
    memory.clear_all_memory()
    memory.clear_all_memory()
    assert workspace.read_bytes(kept) is None


def test_advice_for_memories_names_their_tool() -> None:
    memory = Memory(Workspace(memory={"memories/a.md": "one\n"}))
    service = Service(
        ("memory", {"command": "create", "path": "/memories/a.md", "file_text": "other\n"}),
        ("memory", {"command": "str_replace", "path": "/memories/a.md", "old_str": "ones", "new_str": "2"}),
        ("memory", {"command": "view", "path": "/memories/gone"}),
        ("memory", {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/a.md/b"}),
    )
    service.run([memory])
    said = "".join(str(result["content"]) for result in service.results)
    for name in ("str_replace_based_edit_tool", "overwrite", "old_string", "apply", "use write"):
        assert name not in said, said


def test_a_view_of_memories_shows_the_text_of_the_file(tmp_path: Any) -> None:
    (tmp_path / "n.md").write_text(f"store: {tmp_path}/n.md\n")
    calls: list[dict[str, Any]] = [
        {"command": "view", "path": "/memories/n.md"},
        {"command": "str_replace", "path": "/memories/n.md", "old_str": f"stor: {tmp_path}/", "new_str": "x"},
        {"command": "create", "path": "/memories/n.md", "file_text": "x\n"},
        {"command": "view", "path": "/memories/gone.md"},
    ]
    service = Service(*(("memory", call) for call in calls))
    service.run([Memory(Workspace(tmp_path))])
    view, edit, create, gone = (str(result["content"]) for result in service.results)
    assert f"store: {tmp_path}/n.md" in view and "on /memories/n.md" in view
    assert f"store: {tmp_path}/n.md" in edit and "/memories/n.md" in edit
    assert "/memories/n.md (1 lines)" in create and "overwrite" not in create
    assert "/memories/gone.md" in gone and str(tmp_path) not in gone


def test_directories_of_memories_are_removed(tmp_path: Any) -> None:
    memory = Memory(Workspace(tmp_path))
    (tmp_path / "empty/inner").mkdir(parents=True)
    calls: list[dict[str, Any]] = [
        {"command": "create", "path": "/memories/q/r/b.md", "file_text": "x\n"},
        {"command": "create", "path": "/memories/c.md", "file_text": "x\n"},
        {"command": "rename", "old_path": "/memories/q/r/b.md", "new_path": "/memories/c.md"},
        {"command": "rename", "old_path": "/memories/q", "new_path": "/memories/s"},
        {"command": "delete", "path": "/memories/s"},
        {"command": "delete", "path": "/memories/s"},
        {"command": "delete", "path": "/memories/empty"},
    ]
    service = Service(*(("memory", call) for call in calls))
    service.run([memory])
    failed = [bool(result.get("is_error")) for result in service.results]
    assert failed == [False, False, True, False, False, True, False], service.results
    assert [path.name for path in tmp_path.iterdir()] == ["c.md"]
    memory.session.undo()
    assert (tmp_path / "s/r/b.md").read_text() == "x\n"


@pytest.mark.parametrize("name", ["e **", "`b`", '"q"', "'s'", "*", "e ** **", "[x]", "a/e **"])
def test_memories_may_be_named_like_what_models_put_around_names(name: str, tmp_path: Any) -> None:
    memory = Memory(Workspace(tmp_path))
    path = f"/memories/{name}"
    calls: list[dict[str, Any]] = [
        {"command": "create", "path": "/memories/e", "file_text": "another\n"},
        {"command": "create", "path": path, "file_text": "one\n"},
        {"command": "rename", "old_path": path, "new_path": "/memories/b **"},
        {"command": "rename", "old_path": "/memories/b **", "new_path": path},
        {"command": "delete", "path": path},
    ]
    service = Service(*(("memory", call) for call in calls))
    service.run([memory])
    assert not any(result.get("is_error") for result in service.results), service.results
    assert (tmp_path / "e").read_text() == "another\n" and not (tmp_path / name).exists()


def test_a_view_ends_where_the_model_was_told() -> None:
    workspace = Workspace(memory={"b": "abcdefghij\n" * 9})
    session = workspace.session()
    editor = TextEditor(session, max_characters=50)
    view = editor.call({"command": "view", "path": "/b"})
    assert "     2\tabc" in view and "     3\tabc" not in view and "view_range [3, 9]" in view
    # What was not shown was not read.
    with pytest.raises(errors.ReadError):
        session.write("/b", "x\n")
    assert "not shown" not in editor.call({"command": "view", "path": "/b", "view_range": [8, -1]})
    assert "not shown" not in TextEditor(session).call({"command": "view", "path": "/b"})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_the_limit_of_a_view_counts_characters_of_the_text_in_any_encoding(encoding: str) -> None:
    for text in ("äbcdéfghîj\n" * 9, "äbcdéfghîj\r\n" * 9):
        workspace = Workspace(memory={"b": text.encode(encoding)})
        view = TextEditor(workspace.session(), max_characters=50).call({"command": "view", "path": "/b"})
        assert "     2\täbc" in view and "     3\täbc" not in view and "view_range [3, 9]" in view
        whole = TextEditor(workspace.session(), max_characters=18 * 9).call({"command": "view", "path": "/b"})
        assert "     9\täbc" in whole and "not shown" not in whole


def test_function_tools() -> None:
    workspace = Workspace(memory={"a.py": "x = 1\n"})
    edit = {"file_path": "/a.py", "old_string": "x = 1", "new_string": "x = 2"}
    service = Service(("edit", edit), ("read", {"file_path": "/a.py"}), ("edit", edit))
    service.run(tools(workspace.session()))
    assert [bool(result.get("is_error")) for result in service.results] == [True, False, False]
    assert workspace.read_text("a.py") == "x = 2\n" and service.tools[0]["name"] == "read"
