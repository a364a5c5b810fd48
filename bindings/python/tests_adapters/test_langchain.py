"""Tools and the backend in real graphs whose model is scripted."""

from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends.filesystem import FilesystemBackend
from emendate import Workspace
from emendate.adapters.deepagents import EmendBackend
from emendate.adapters.langchain import tools
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

ASKING = '[policy]\nask = ["Edit(*.toml)"]\n'


class ScriptedModel(FakeMessagesListChatModel):
    """A model with scripted replies."""

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def call(id: str, name: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": id}])


def results(state: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


EDIT = {"file_path": "/a.toml", "old_string": "x = 1", "new_string": "x = 2"}
START = {"messages": [{"role": "user", "content": "Edit."}]}


def test_a_refused_call_is_a_message() -> None:
    workspace = Workspace(memory={"a.toml": "x = 1\n"})
    calls = [call("1", "edit", **EDIT), call("2", "read", file_path="/a.toml"), call("3", "edit", **EDIT)]
    agent = create_agent(ScriptedModel(responses=[*calls, AIMessage("Done.")]), tools(workspace.session()))
    refused, read, edited = results(agent.invoke(START))
    assert (refused.status, read.status, edited.status) == ("error", "success", "success")
    assert "read" in refused.content and edited.artifact["filePath"] == "/a.toml"
    assert workspace.read_text("a.toml") == "x = 2\n"


@pytest.mark.parametrize("agrees", [True, False])
def test_a_rule_that_asks_interrupts_the_graph(agrees: bool) -> None:
    workspace = Workspace(memory={"a.toml": "x = 1\n"}, config=ASKING)
    model = ScriptedModel(responses=[call("1", "edit", **EDIT), AIMessage("Done.")])
    given = tools(workspace.session(unread="allow"), approve=interrupt)
    agent = create_agent(model, given, checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    asked = agent.invoke(START, thread)
    assert asked["__interrupt__"][0].value["files"][0]["filePath"] == "/a.toml"
    assert workspace.read_text("a.toml") == "x = 1\n"
    done = agent.invoke(Command(resume=agrees), thread)
    assert results(done)[0].status == ("success" if agrees else "error")
    assert workspace.read_text("a.toml") == ("x = 2\n" if agrees else "x = 1\n")


def test_a_deep_agent_edits_through_the_backend(tmp_path: Any) -> None:
    (tmp_path / "a.py").write_text("def f():\n        return 1\n")
    edit = {"file_path": "/a.py", "old_string": "return 1", "new_string": "return 2"}
    calls = [
        call("1", "ls", path="/"),
        call("2", "read_file", file_path="/a.py"),
        call("3", "edit_file", **edit),
        call("4", "edit_file", **edit),
        call("5", "write_file", file_path="/sub/new.py", content="new\n"),
        call("6", "grep", pattern="return", path="/"),
        call("7", "glob", pattern="**/*.py", path="/"),
    ]
    backend = EmendBackend(Workspace(tmp_path).session())
    agent = create_deep_agent(model=ScriptedModel(responses=[*calls, AIMessage("Done.")]), backend=backend)
    texts = [str(message.content) for message in results(agent.invoke(START))]
    assert "/a.py" in texts[0] and "return 1" in texts[1] and str(tmp_path) not in "".join(texts)
    assert "already" in texts[3] or "return 2" in texts[3]
    assert (tmp_path / "a.py").read_text() == "def f():\n        return 2\n"
    assert (tmp_path / "sub/new.py").read_text() == "new\n"
    assert "/a.py" in texts[5] and "/sub/new.py" in texts[6] and "/a.py" in texts[6]


def test_advice_of_the_backend_names_tools_of_the_agent(tmp_path: Any) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 2\nx = 1\n")
    (tmp_path / "sub").mkdir()
    backend = EmendBackend(Workspace(tmp_path).session())
    unread = str(backend.edit("/a.py", "y = 2", "y = 3").error)
    assert 'Call read_file with {"file_path":"/a.py"}' in unread
    backend.read("/a.py")
    ambiguous = str(backend.edit("/a.py", "x = 1", "x = 2").error)
    assert "replace_all" in ambiguous and '"at"' not in ambiguous and "1@" not in ambiguous
    # Tools of the agent count lines from 0.
    for _ in range(2):
        again = str(backend.edit("/a.py", "yyy = 2", "y = 3").error)
    assert 'Call read_file with {"file_path":"/a.py","offset":0,"limit":' in again
    assert "ls shows them" in str(backend.read("/sub").error)
    assert "use write_file" in str(backend.edit("/gone", "a", "b").error)
    texts = [unread, ambiguous, again]
    texts += [str(result.error) for result in (backend.ls("/a.py"), backend.grep("x", "/gone"), backend.write("/../x", "y"))]
    assert str(tmp_path) not in "".join(texts)


def test_a_field_named_self_is_a_field() -> None:
    edit = next(tool for tool in tools(Workspace(memory={"a.toml": "x = 1\n"}).session()) if tool.name == "edit")
    said = edit.invoke({"type": "tool_call", "id": "1", "name": "edit", "args": {**EDIT, "self": 1}})
    assert said.status == "error" and "self" in said.content


def test_the_backend_searches_the_text_in_any_encoding(tmp_path: Any) -> None:
    text = "one\r\nzwölf Körbe\r\nthree\r\n"
    encodings = ["utf-8", "utf-8-sig", "utf-16", "latin-1"]
    for name in encodings:
        (tmp_path / name).write_bytes(text.encode(name))
    backend = EmendBackend(Workspace(tmp_path).session())
    found = backend.grep("ölf Kö").matches or []
    assert sorted(match["path"] for match in found) == sorted(f"/{name}" for name in encodings)
    assert {(match["line"], match["text"]) for match in found} == {(2, "zwölf Körbe")}
    first = backend.grep("one").matches or []
    assert len(first) == 4 and {(match["line"], match["text"]) for match in first} == {(1, "one")}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\n", b"a\nc\n"),
        (b"a\nb\n", b"a\r\nc\r\n"),
        (b"a\nb\r\nc\n", b"a\nc\n"),
        (b"a\rb\r", b"a\nc\n"),
        ("ä\n".encode("utf-16"), "ö\n".encode()),
        ("zwölf Körbe\n".encode("latin-1"), "elf Körbe\n".encode()),
        (b"\xef\xbb\xbfa\n", b"b\n"),
        (b"a\n", b"\xef\xbb\xbfb\n"),
    ],
)
def test_an_upload_is_never_converted(before: bytes, after: bytes, tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_bytes(before)
    backend = EmendBackend(Workspace(tmp_path).session())
    (refused,) = backend.upload_files([("/a.txt", after)])
    assert "would be converted" in str(refused.error) and "Delete the file" in str(refused.error)
    assert (tmp_path / "a.txt").read_bytes() == before
    assert backend.delete("/a.txt").error is None
    assert backend.upload_files([("/a.txt", after)])[0].error is None and (tmp_path / "a.txt").read_bytes() == after


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_an_upload_of_the_same_form_replaces_a_file(ends: str, tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_bytes(f"a{ends}b{ends}".encode())
    backend = EmendBackend(Workspace(tmp_path).session())
    for text in (f"a{ends}c{ends}", f"ä{ends}", "one line", f"a{ends}"):
        assert backend.upload_files([("/a.txt", text.encode())])[0].error is None
        assert (tmp_path / "a.txt").read_bytes() == text.encode()


def test_a_directory_has_one_name(tmp_path: Any) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.txt", "sub/b.txt"):
        (tmp_path / name).write_text("x\n")
    backend = EmendBackend(Workspace(tmp_path).session())
    for path in (".", "./", "/.", "/", ""):
        assert sorted(entry["path"] for entry in backend.ls(path).entries or []) == ["/a.txt", "/sub/"]
    assert [entry["path"] for entry in backend.ls("./sub").entries or []] == ["/sub/b.txt"]


def test_the_backend_answers_as_the_one_for_files(tmp_path: Any) -> None:
    (tmp_path / "sub").mkdir()
    files = {"a.py": "one\ntwo\nthree\n", "sub/b.py": "two\n", "sub/c.txt": "two\ntwo\n", "empty": ""}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    ours: Any = EmendBackend(Workspace(tmp_path).session(unread="allow"))
    theirs: Any = FilesystemBackend(root_dir=tmp_path, virtual_mode=True)

    def of(backend: Any) -> list[Any]:
        paths = lambda entries: sorted(entry["path"].rstrip("/") for entry in entries)  # noqa: E731
        window = backend.read("/a.py", 1, 1)
        return [
            paths(backend.ls("/").entries),
            paths(backend.glob("*.py", "/").matches),
            paths(backend.glob("sub/*", "/").matches),
            sorted((match["path"], match["line"], match["text"]) for match in backend.grep("two").matches),
            [match["path"] for match in backend.grep("two", "/sub", "*.py").matches],
            (window.file_data["content"].rstrip("\n"), window.start_line, window.end_line, window.total_lines),
            window.next_offset,
            backend.read("/nothing").error is not None,
            backend.read("/empty").file_data["content"],
            backend.read("/a.py", 0, 0).file_data["content"],
            backend.edit("/sub/c.txt", "two", "2", True).occurrences,
            backend.edit("/sub/c.txt", "nothing", "2").error is not None,
            backend.download_files(["/a.py", "/nothing"])[0].content,
            backend.download_files(["/nothing"])[0].error,
        ]

    expected = of(theirs)
    (tmp_path / "sub/c.txt").write_text(files["sub/c.txt"])
    assert of(ours) == expected
    assert ours.edit("/../outside", "a", "b").error
    assert ours.upload_files([("/up.txt", b"up\n")])[0].error is None and (tmp_path / "up.txt").read_text() == "up\n"
    assert ours.delete("/sub").error is None and not list((tmp_path / "sub").glob("*"))
    assert ours.delete("/nothing").error
