"""Workspaces and sessions: what Rust has, with files on disk and in memory."""

import asyncio
import gc
import inspect
import json
import re
import threading
from collections import UserDict
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import emendate
import pytest
from emendate import ChangeOptions, Session, TextEdit, Workspace, _emendate, errors
from emendate._emendate import NativeHandle
from emendate.aio import AsyncSession

ASKING = '[policy]\nask = ["Edit(*.toml)"]\ndeny = ["secret*"]\n'


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "a.py").write_bytes(b"x = 1\r\ny = 2\r\nz = 3\r\n")
    return Workspace(tmp_path)


def test_every_advised_parameter_exists() -> None:
    rows = _emendate.session_parameters()
    assert ("write", "create_new") in rows and ("TextEdit", "at") in rows and ("undo", "operation") in rows
    for method, parameter in rows:
        signature = inspect.signature(TextEdit if method == "TextEdit" else getattr(Session, method))
        names = set(signature.parameters)
        if any(it.kind is inspect.Parameter.VAR_KEYWORD for it in signature.parameters.values()):
            names |= ChangeOptions.__annotations__.keys()
        assert parameter in names, (method, parameter)


FAILING: list[tuple[str, Callable[[Session], object], str]] = [
    ("ambiguous", lambda session: session.edit("a.py", "x = 1", "x = 2"), "session.multi_edit("),
    ("exists", lambda session: session.write("a.py", "z\n", create_new=True), "create_new=False"),
    ("unread", lambda session: session.edit("b.py", "y = 2", "y = 3"), "session.read("),
    ("nothing to undo", lambda session: session.undo(), "session.call("),
    ("notebook", lambda session: session.edit("n.ipynb", "a = 1", "a = 2"), "session.call("),
    ("omission", lambda session: session.edit("a.py", "y = 2", "y = 3\n# ... rest of code ..."), "allow_invalid=True"),
    ("similar", lambda session: session.edit("a.py", "yy = 2", "y = 3"), "old="),
]


@pytest.mark.parametrize(("name", "call", "start"), FAILING, ids=[name for name, _, _ in FAILING])
def test_advice_is_a_call_that_works(name: str, call: Callable[[Session], object], start: str) -> None:
    cell = {"cell_type": "code", "id": "c", "metadata": {}, "source": ["a = 1"], "outputs": [], "execution_count": None}
    notebook = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    workspace = Workspace(memory={"a.py": "x = 1\ny = 2\nx = 1\n", "b.py": "y = 2\n", "n.ipynb": notebook})
    session = workspace.session()
    session.read("a.py")
    session.call("read", {"file_path": "/n.ipynb"})
    with pytest.raises(errors.EmendError) as caught:
        call(session)
    (code,) = [code for code in re.findall(r"`([^`]*)`", caught.value.next) if code.startswith(start)]
    if not code.startswith("session."):
        # An argument of the same call.
        code = {
            "exists": f'session.write("a.py", "z", {code})',
            "omission": f'session.edit("a.py", "y = 2", "y = 3\\n# ... rest of code ...", {code})',
            "similar": f'session.edit("a.py", new="y = 3", {code})',
        }[name]
    result = eval(code, {"session": session, "path": "a.py", "old": "x = 1", "new": "x = 2", "TextEdit": TextEdit})
    assert getattr(result, "ok", True)


def test_a_session_reads_edits_and_undoes(workspace: Workspace) -> None:
    session = workspace.session("agent-1")
    with pytest.raises(errors.ReadError) as caught:
        session.edit("a.py", "y = 2", "y = 20")
    assert caught.value.code == "read.required"
    part = session.read("a.py", 2, 3)
    assert (part.text, part.start, part.end, part.total_lines, part.is_complete) == ("y = 2\nz = 3\n", 2, 3, 3, False)
    done = session.edit("a.py", "y = 2", "y = 20", diff=True)
    (file,) = done.files
    assert (file.kind, file.added, file.removed, done.tier, done.places) == ("updated", 1, 1, "exact", 1)
    assert file.path == Path(workspace.roots[0], "a.py") and "+y = 20" in done.diff
    assert [(span.start, span.end, span.new_end) for span in file.spans] == [(12, 12, 13)]
    # Line ends that were not edited are those of the file.
    assert workspace.read_bytes("a.py") == b"x = 1\r\ny = 20\r\nz = 3\r\n"
    undone = session.undo()
    assert undone.undone == [done.operation]
    assert workspace.read_text("a.py") == "x = 1\r\ny = 2\r\nz = 3\r\n"
    session.undo(redo=True)
    assert b"20" in (workspace.read_bytes("a.py") or b"")


def test_many_edits_are_one_change_or_none() -> None:
    workspace = Workspace(memory={"a.py": "a\nb\nb\n", "sub/b.py": b"c\n"})
    assert workspace.roots == ["/"]
    session = workspace.session(unread="allow")
    done = session.multi_edit("a.py", [("a", "A"), TextEdit("b", "B", expected=2)])
    assert [(edit.edit, edit.places) for edit in done.files[0].edits] == [(0, 1), (1, 2)]
    with pytest.raises(errors.MatchError):
        session.multi_edit("a.py", [("A", "Z"), ("nothing", "x")])
    assert workspace.files() == {"/a.py": b"A\nB\nB\n", "/sub/b.py": b"c\n"}
    partial = session.multi_edit("a.py", [("A", "Z"), ("nothing", "x")], partial=True)
    (error,) = partial.files[0].failed
    assert error.code == "match.not_found" and workspace.read_text("a.py") == "Z\nB\nB\n"


@pytest.mark.parametrize("edit", [{"old": "age: 3", "new": "age: 4"}, "ab", 3, b"ab"])
def test_edits_of_other_types_are_refused(edit: Any) -> None:
    workspace = Workspace(memory={"a.txt": "old name, ab\nage: 3\n"})
    session = workspace.session(unread="allow")
    with pytest.raises(TypeError, match="`TextEdit` or a pair"):
        session.multi_edit("a.txt", [edit])
    assert workspace.read_text("a.txt") == "old name, ab\nage: 3\n"


def test_patches_create_move_and_delete() -> None:
    workspace = Workspace(memory={"a.py": "a\n", "b.py": "b\n"})
    session = workspace.session(unread="allow")
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n*** Move to: c.py\n@@\n-a\n+A\n*** Add File: d.py\n+d\n"
        "*** Delete File: b.py\n*** End Patch\n"
    )
    planned = session.apply(patch, dry_run=True)
    assert planned.dry_run and planned.operation is None and len(workspace.files()) == 2
    done = session.apply(patch)
    kinds = {str(file.path): (file.kind, str(file.from_path)) for file in done.files}
    assert kinds == {"/c.py": ("moved", "/a.py"), "/d.py": ("created", "None"), "/b.py": ("deleted", "None")}
    assert workspace.files() == {"/c.py": b"A\n", "/d.py": b"d\n"}
    session.undo(done.operation)
    assert workspace.files() == {"/a.py": b"a\n", "/b.py": b"b\n"}
    assert session.apply("@@\n-a\n+A\n", file="a.py").format == "unified_diff"


def test_writes_are_checked() -> None:
    workspace = Workspace(memory={"a.json": "{}\n"})
    session = workspace.session()
    assert session.write("new.txt", "one\n").files[0].kind == "created"
    with pytest.raises(errors.EmendError):
        session.write("new.txt", "two\n", create_new=True)
    with pytest.raises(errors.ReadError):
        session.write("a.json", "[]\n")
    session.read("a.json")
    with pytest.raises(errors.EmendError) as caught:
        session.write("a.json", "{\n")
    assert workspace.read_text("a.json") == "{}\n" and caught.value.next
    session.write("a.json", "{\n", allow_invalid=True)
    assert workspace.read_text("nothing") is None


def test_a_file_that_others_changed_is_merged_or_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("a\nb\nc\nd\ne\n")
    workspace = Workspace(tmp_path)
    session = workspace.session()
    session.read("a.txt")
    file.write_text("a\nb\nc\nd\nE\n")
    assert session.edit("a.txt", "a", "A").files[0].merged
    assert file.read_text() == "A\nb\nc\nd\nE\n"
    session.read("a.txt")
    file.write_text("A\nb\nc\nd\ne\n")
    with pytest.raises(errors.StaleError):
        session.edit("a.txt", "A", "a", on_stale="reject")


def test_questions_wait_for_a_person() -> None:
    workspace = Workspace(memory={"a.toml": "a = 1\n", "secret.txt": "s\n"}, config=ASKING)
    session = workspace.session(unread="allow")
    with pytest.raises(errors.AccessError) as caught:
        session.edit("a.toml", "1", "2")
    seal = caught.value.data["question"]["seal"]
    with pytest.raises(errors.AccessError, match="nothing was changed"):
        session.denied(seal).edit("a.toml", "1", "2")
    with pytest.raises(errors.AccessError):
        session.approved(seal).edit("a.toml", "1", "3")
    session.approved(seal).edit("a.toml", "1", "2")
    reply = session.call("edit", {"file_path": "/a.toml", "old_string": "2", "new_string": "3"})
    assert (reply.ok, reply.code) == (False, "access.ask") and reply.question
    assert session.approved(reply.question["seal"], {"/a.toml": "a = 4\n"}).call(
        "edit", {"file_path": "/a.toml", "old_string": "2", "new_string": "3"}
    ).ok
    assert workspace.read_text("a.toml") == "a = 4\n"
    with pytest.raises(errors.AccessError):
        workspace.read_bytes("secret.txt")


def test_tools_have_schemas_and_can_be_called() -> None:
    workspace = Workspace(memory={"a.py": "x = 1\n"})
    for profile in emendate.profiles():
        tools = workspace.session().tools(profile)
        assert tools and len(emendate.instructions(profile)) <= 512
        for tool in tools:
            assert tool.input_schema["type"] == "object" and tool.description and tool.title
            json.dumps(tool.input_schema)
    tools = {tool.name: tool for tool in workspace.session().tools("claude")}
    assert tools["Read"].read_only and not tools["Edit"].read_only
    refused = tools["Edit"].call({"file_path": "/a.py", "old_string": "x = 1", "new_string": "x = 2"})
    assert (refused.ok, refused.code, refused.retryable) == (False, "read.required", True)
    assert refused.error and refused.error.next in refused.text
    assert "x = 1" in tools["Read"](file_path="/a.py")
    assert tools["Edit"].call('{"file_path": "/a.py", "old_string": "x = 1", "new_string": "x = 2"}').data
    assert workspace.read_text("a.py") == "x = 2\n"


def test_what_a_model_sends_never_raises() -> None:
    session = Workspace(memory={"a.py": "x = 1\n"}).session()
    assert session.call("edit", "{broken").code == "call.invalid"
    assert session.call("Edit", "[" * 100_000, profile="claude").code == "call.invalid"
    assert session.call("nothing", {}).code == "call.unknown_tool"
    assert session.call("edit", " " * (80 << 20)).code == "call.too_large"
    assert session.call("edit", "\0\ud7ff").code == "call.invalid"


def test_any_mapping_is_an_input() -> None:
    session = Workspace(memory={"a.py": "x = 1\n"}).session()
    assert session.call("read", MappingProxyType({"file_path": "/a.py"})).ok
    edits = [MappingProxyType({"old_string": "x", "new_string": "y"})]
    assert session.call("multi_edit", UserDict({"file_path": "/a.py", "edits": edits})).ok
    assert session.workspace.read_text("a.py") == "y = 1\n"
    with pytest.raises(TypeError, match="`set` is no value of JSON"):
        session.call("read", {"file_path": {"/a.py"}})


def test_an_input_that_is_nested_too_deeply_is_an_error_of_the_reply() -> None:
    session = Workspace(memory={}).session()
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    reply = session.call("read", deep)
    assert (reply.ok, reply.code, type(reply.error)) == (False, "call.invalid", errors.CallError)
    assert "nested too deeply" in reply.text and "Next: " in reply.text


def test_a_field_named_self_is_a_field() -> None:
    (read,) = [tool for tool in Workspace(memory={"a.py": "x\n"}).session().tools() if tool.name == "read"]
    assert "self" in read(**{"file_path": "/a.py", "self": 1})


def test_outcomes_say_what_they_are() -> None:
    session = Workspace(memory={"a.py": "x = 1\n"}).session(unread="allow")
    done = session.edit("a.py", "x = 1", "x = 2")
    assert repr(done.files[0].edits[0]) == "EditPlacement(edit=0, tier='exact', places=1)"
    undone = session.undo()
    assert repr(undone) == f"UndoOutcome(undone=('{done.operation}',), change={undone.change!r})"


def test_a_profile_has_no_other_tools() -> None:
    workspace = Workspace(memory={"a.py": "x\n"})
    session = workspace.session(unread="allow")
    refused = session.call("write", {"file_path": "/a.py", "content": "gone\n"}, profile="aider")
    assert (refused.code, workspace.read_text("a.py")) == ("call.unknown_tool", "x\n")
    assert refused.error is not None and refused.error.next == "Use one of: read, search, edit, undo."
    assert session.call("write", {"file_path": "/a.py", "content": "y\n"}).ok


def test_half_of_a_character_is_an_error_of_the_reply() -> None:
    session = Workspace(memory={"a.py": "x\n"}).session()
    inputs = ({"file_path": "\ud83d"}, '{"file_path":"\ud83d"}', '{"file_path":"\\ud83d"}', '{"file_path":"\\udc00"}')
    for input in inputs:
        reply = session.call("Read", input, profile="claude")
        assert reply.code == "call.invalid" and "half of a character" in reply.text
    assert session.call("\ud83d", {}).code == "call.unknown_tool"


@pytest.mark.parametrize("argument", ["last", "start", "end", "strip", "expected", "line"])
def test_negative_numbers_name_their_argument(argument: str) -> None:
    session = Workspace(memory={"a.py": "x\n"}).session(unread="allow")
    given: Any = {argument: -1}
    with pytest.raises(errors.CallError, match=f"`{argument}` is -1"):
        if argument == "last":
            session.undo(last=-1)
        elif argument == "strip":
            session.apply("x", strip=-1)
        elif argument in ("start", "end"):
            session.read("a.py", **given)
        else:
            session.multi_edit("a.py", [TextEdit("x", "y", **given)])


def test_mistakes_of_a_program_raise(tmp_path: Path) -> None:
    workspace = Workspace(memory={"a.py": "x\n"})
    session = workspace.session()
    with pytest.raises(TypeError, match="matc"):
        session.edit("a.py", "x", "y", matc="exact")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Workspace(tmp_path, memory={})
    with pytest.raises(ValueError):
        session.multi_edit("a.py", [])
    for broken in (
        lambda: Workspace(),
        lambda: Workspace(tmp_path / "nothing"),
        lambda: Workspace(tmp_path, config="[nonsense"),
        lambda: Workspace(memory={"../a": "x"}),
        lambda: Workspace(memory={"a": "1", "/a": "2"}),
        lambda: Workspace(memory={"a": "1", "a/b": "2"}),
        lambda: Workspace(memory={"a\0": "x"}),
        lambda: workspace.session(unread="perhaps"),  # type: ignore[arg-type]
        lambda: workspace.session(directory="d"),
        lambda: session.edit("a.py", "x", "y", on_stale="perhaps"),  # type: ignore[typeddict-item]
        lambda: session.edit("a.py", "x", "y", tag="no tag"),
        lambda: session.undo("nothing"),
        lambda: session.tools("nothing"),
    ):
        with pytest.raises(errors.EmendError) as caught:
            broken()
        assert caught.value.message


def test_the_history_outlives_the_process(tmp_path: Path) -> None:
    files, state = tmp_path / "files", tmp_path / "state"
    files.mkdir()
    (files / "a.txt").write_text("one\n")
    workspace = Workspace(files, state=state)
    session = workspace.session("agent")
    session.read("a.txt")
    session.edit("a.txt", "one", "two")
    del session, workspace
    gc.collect()
    Workspace(files, state=state).session("agent").undo()
    assert (files / "a.txt").read_text() == "one\n"


def test_threads_share_a_workspace() -> None:
    workspace = Workspace(memory={f"{nth}.txt": "a\n" * 500 for nth in range(8)})

    def work(nth: int) -> None:
        session = workspace.session(f"agent-{nth}")
        for turn in range(20):
            session.read(f"{nth}.txt")
            session.edit(f"{nth}.txt", "a" if turn % 2 == 0 else "b", "b" if turn % 2 == 0 else "a", replace_all=True)
            session.write("shared.txt", "s\n", dry_run=True)

    threads = [threading.Thread(target=work, args=(nth,)) for nth in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(workspace.files().values()) == {b"a\n" * 500}


def test_asyncio() -> None:
    workspace = Workspace(memory={"a.txt": "one\n", "b.txt": "one\n"})

    async def main() -> None:
        session = AsyncSession(workspace.session("agent"))
        assert session.name == "agent"
        await asyncio.gather(session.read("a.txt"), session.read("b.txt"))
        done = await session.edit("a.txt", "one", "two")
        assert done.files[0].added == 1
        reply = await session.call("edit", {"file_path": "/b.txt", "old_string": "one", "new_string": "two"})
        assert reply.ok
        with pytest.raises(errors.MatchError):
            await session.edit("a.txt", "nothing", "x")

    asyncio.run(main())
    assert set(workspace.files().values()) == {b"two\n"}


def test_asynchronous_calls_of_a_session_keep_their_order() -> None:
    workspace = Workspace(memory={"a.txt": "<0>\n"})
    session = workspace.session("agent")

    async def main() -> list[str]:
        await AsyncSession(session).read("a.txt")
        edits, reads = [], []
        for n in range(40):
            # Adapters make an object for each call.
            edits.append(asyncio.ensure_future(AsyncSession(session).edit("a.txt", f"<{n}>", f"<{n + 1}>")))
            reads.append(asyncio.ensure_future(AsyncSession(session).read("a.txt")))
        await asyncio.gather(*edits)
        return [read.text for read in await asyncio.gather(*reads)]

    for _ in range(2):
        # Each run has an event loop of its own.
        assert asyncio.run(main()) == [f"<{n + 1}>\n" for n in range(40)]
        workspace.session(unread="allow").write("a.txt", "<0>\n")


def test_questions_of_asynchronous_sessions() -> None:
    workspace = Workspace(memory={"a.toml": "x = 1\n"}, config=ASKING)
    session = AsyncSession(workspace.session(unread="allow"))
    edit = {"file_path": "/a.toml", "old_string": "x = 1", "new_string": "x = 2"}

    async def main() -> None:
        assert session.workspace is workspace and [tool.name for tool in session.tools("claude")][0] == "Read"
        assert (await session.planning().call("edit", edit)).ok
        question = (await session.call("edit", edit)).question
        assert question is not None
        assert "declined" in (await session.denied(question["seal"]).call("edit", edit)).text
        question = (await session.call("edit", edit)).question
        assert question is not None
        assert (await session.approved(question["seal"], {"/a.toml": "x = 3\n"}).call("edit", edit)).ok

    asyncio.run(main())
    assert workspace.read_text("a.toml") == "x = 3\n"


def test_a_cancelled_task_stops_its_call(tmp_path: Path) -> None:
    for nth in range(2000):
        (tmp_path / f"{nth}.txt").write_text("one\n" * 50)
    session = Workspace(tmp_path).session(unread="allow")
    change = {"path": str(tmp_path), "old_string": "one", "new_string": "two"}
    stopped = NativeHandle()
    stopped.stop()
    reply = session._with_handle(stopped).call("replace_in_files", change)
    assert reply.code == "call.cancelled"

    async def main() -> None:
        task = asyncio.create_task(AsyncSession(session).call("replace_in_files", change))
        await asyncio.sleep(0.002)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    # The call stopped before it wrote, or it was done.
    assert len({path.read_text() for path in tmp_path.iterdir()}) == 1
