#!/usr/bin/env python3
"""Drives `emend mcp` with the real Python client: python run.py PATH_OF_EMEND

Needs the packages of requirements.txt. Prints one line per check and `N passed, M failed` at the end; exit 1 on failure.
"""

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True  # a test must not change the tree

from harness import (DATA, LEGACY, MODERN, MODES, PATIENCE, SIZE, Place, Raw, call, check, data, done, failed, in_every_mode,
                     run, text)
import long  # noqa: F401: registers its checks
import profiles  # noqa: F401
import resources  # noqa: F401
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult, EmptyResult, Request


@in_every_mode
async def lists_the_tools(mode):
    async with Place().client(mode) as client:
        assert client.protocol_version == (LEGACY if mode.startswith("legacy") else MODERN), client.protocol_version
        if not mode.startswith("modern"):  # a client pinned to one version does not request them
            assert client.server_info.name == "emendate" and len(client.instructions) <= 512
        listed = (await client.list_tools()).tools
        tools = {tool.name: tool for tool in listed}
        assert list(tools)[:4] == ["read", "search", "edit", "write"] and len(tools) <= 6, list(tools)
        hints = {name: tool.annotations for name, tool in tools.items()}
        assert all(hint.open_world_hint is False for hint in hints.values())
        told = {name: (it.read_only_hint, it.destructive_hint, it.idempotent_hint) for name, it in hints.items()}
        assert told["read"] == (True, False, True) and told["edit"] == (False, True, False), told
        assert told["write"][:2] == (False, True), told
        for tool in listed:
            schema = tool.input_schema
            assert schema["type"] == "object" and schema["additionalProperties"] is False, schema
            # An undo without arguments reverts the last call.
            assert tool.name == "undo" or {"file_path", "input", "pattern"} & set(schema["required"]), schema
            assert tool.title and tool.output_schema is None
            assert 0 < len(tool.description) <= 2048
        assert {"old_string", "new_string", "replace_all", "edits"} <= set(tools["edit"].input_schema["properties"])
        assert {"offset", "limit"} <= set(tools["read"].input_schema["properties"])
        assert tools["read"].meta[SIZE] == 200_000 and tools["edit"].meta is None
        size = sum(len(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in listed)
        assert size <= 8300, f"{size} characters; `bench economy` counts them: 2,000 tokens are the limit"


@check
async def says_how_long_the_list_may_be_kept():
    async with Place().client("modern", cache=None) as client:
        listed = await client.list_tools()
        assert listed.ttl_ms > 0 and listed.cache_scope == "public", listed


@in_every_mode
async def reads_edits_and_writes(mode):
    place = Place()
    path = place.file("a.txt", "one\ntwo\nthree\n")
    async with place.client(mode) as client:
        assert "two" in text(await done(client, "read", path))
        edited = await done(client, "edit", path, old_string="two", new_string="2")
        assert edited.structured_content is None and data(edited)["data"]["filePath"] == str(path)
        edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "three", "new_string": "3"}]
        await done(client, "edit", path, edits=edits)
        assert path.read_text() == "1\n2\n3\n"
        await done(client, "write", path, content="new\n")
        await done(client, "write", path.parent / "sub" / "b.txt", content="made\n")
        assert path.read_text() == "new\n" and (path.parent / "sub" / "b.txt").read_text() == "made\n"


@in_every_mode
async def failures_teach_and_change_nothing(mode):
    place = Place()
    path = place.file("a.txt", "same\nsame\nother\n")
    async with place.client(mode) as client:
        edit = {"old_string": "other", "new_string": "x"}
        await failed(client, "edit", path, "read.required", 6, **edit)
        await failed(client, "write", path, "read.required", 2, content="x")
        await done(client, "read", path)
        twice = await failed(client, "edit", path, "match.ambiguous", 9, old_string="same", new_string="x")
        assert "1" in text(twice) and "2" in text(twice), text(twice)
        await failed(client, "edit", path, "match.not_found", 8, old_string="nowhere", new_string="x")
        await failed(client, "edit", path, "edit.no_change", 1, old_string="same", new_string="same")
        await failed(client, "edit", place.root / "b.txt", "file.not_found", 4, **edit)
        await failed(client, "edit", "/etc/hostname", "path.outside", 2, **edit)
        await failed(client, "edit", path, "call.invalid", None, edits=7, **edit)
        assert path.read_text() == "same\nsame\nother\n"


@in_every_mode
async def an_unknown_tool_is_a_protocol_error(mode):
    async with Place().client(mode) as client:
        try:
            await client.call_tool("no_such_tool", {})
        except MCPError as error:
            assert error.code == -32602 and "read, search, edit" in str(error), error
        else:
            raise AssertionError("answered")


@in_every_mode
async def a_stale_file_is_merged(mode):
    place = Place()
    lines = [f"line {n}" for n in range(40)]
    path = place.file("a.txt", "\n".join(lines) + "\n")
    async with place.client(mode) as client:
        await done(client, "read", path)
        path.write_text("# by somebody else\n" + "\n".join(lines) + "\n")
        await done(client, "edit", path, old_string="line 30", new_string="LINE 30")
        assert path.read_text() == ("# by somebody else\n" + "\n".join(lines) + "\n").replace("line 30", "LINE 30")
        path.write_text(path.read_text().replace("line 20", "mine!"))
        clash = await call(client, "edit", path, old_string="line 20", new_string="LINE 20")
        assert clash.is_error and data(clash)["seed_code"] == 7 and "mine!" in path.read_text(), text(clash)


@check
async def the_claude_profile_has_the_names_and_fields_of_the_seeds():
    place = Place()
    path = place.file("a.txt", "one\ntwo\n")
    async with place.client("auto", "--profile", "claude") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        fields = {name: set(tool.input_schema["properties"]) for name, tool in tools.items()}
        required = {name: set(tool.input_schema["required"]) for name, tool in tools.items()}
        assert {"Read", "Edit", "MultiEdit", "Write"} <= set(tools), list(tools)
        assert fields["Read"] == {"file_path", "offset", "limit", "cells", "pages"} and required["Read"] == {"file_path"}
        assert fields["NotebookEdit"] >= {"notebook_path", "cell_id", "new_source", "cell_type", "edit_mode"}
        assert fields["Edit"] >= {"file_path", "old_string", "new_string", "replace_all"}
        assert required["Edit"] == {"file_path", "old_string", "new_string"}, required
        assert fields["MultiEdit"] == {"file_path", "edits"} == required["MultiEdit"]
        assert fields["Write"] == {"file_path", "content"} == required["Write"]
        await done(client, "Read", path)
        await done(client, "Edit", path, old_string="one", new_string="1")
        await done(client, "MultiEdit", path, edits=[{"old_string": "two", "new_string": "2"}])
        assert path.read_text() == "1\n2\n"
        await done(client, "Write", path, content="x\n")
        await failed(client, "Edit", path, "call.invalid", None, old_string="x", new_string="y", tag="t")


@check
async def structured_content_is_there_when_asked_for():
    place = Place()
    path = place.file("a.txt", "one\n")
    async with place.client("modern", "--structured") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        fields = tools["edit"].output_schema["properties"]["data"]["properties"]
        assert fields["structuredPatch"]["type"] == "array" and "originalFile" in fields, fields
        shown = (await done(client, "read", path)).structured_content
        assert shown["ok"] is True and "one" in shown["text"] and "data" in shown, shown
        refused = await call(client, "edit", path, old_string="none", new_string="x")
        assert refused.is_error and refused.structured_content["code"] == "match.not_found"


@in_every_mode
async def fifty_parallel_edits_of_one_file(mode):
    place = Place()
    path = place.file("a.txt", "".join(f"line {n};\n" for n in range(50)))
    async with place.client(mode) as client:
        await done(client, "read", path)
        edit = lambda n: done(client, "edit", path, old_string=f"line {n};", new_string=f"LINE {n};")
        await asyncio.gather(*map(edit, range(50)))
        assert path.read_text() == "".join(f"LINE {n};\n" for n in range(50))


@check
async def reads_do_not_wait_for_a_heap_of_edits():
    place = Place()
    path = place.file("a.txt", "".join(f"line {n};\n" for n in range(200)))
    other = place.file("b.txt", "other\n")
    async with place.client("modern") as client:
        await done(client, "read", path)
        edit = lambda n: done(client, "edit", path, old_string=f"line {n};", new_string=f"LINE {n};")
        edits = [asyncio.ensure_future(edit(n)) for n in range(200)]
        await asyncio.sleep(0)
        await done(client, "read", other)
        waiting = sum(not it.done() for it in edits)
        await asyncio.gather(*edits)
        print(f"     {waiting} of 200 edits were still under way when the read was answered")


@check
async def two_servers_on_one_file():
    place = Place()
    path = place.file("a.txt", "".join(f"line {n};\n" for n in range(60)))
    async with place.client("modern") as first, place.client("legacy") as second:
        clients = [first, second]
        for client in clients:
            await done(client, "read", path)
        edit = lambda n: done(clients[n % 2], "edit", path, old_string=f"line {n};", new_string=f"LINE {n};")
        await asyncio.gather(*map(edit, range(60)))
        assert path.read_text() == "".join(f"LINE {n};\n" for n in range(60))


@in_every_mode
async def unknown_methods_are_answered(mode):
    async with Place().client(mode) as client:
        try:
            await client.session.send_request(Request(method="nonsense/method", params=None), EmptyResult)
        except MCPError as error:
            assert error.code == -32601, error
        else:
            raise AssertionError("answered")
        await client.list_tools()


@in_every_mode
async def garbage_lines_do_not_end_the_talk(mode):
    if mode.endswith("http"):
        return  # HTTP has no lines
    place = Place()
    path = place.file("a.txt", "one\n")
    lines = '{"jsonrpc":"2.0","method":"notifications/initialized"}\ngarbage\n[]\n{"jsonrpc":\n\\377\\376\n'
    script = f"(printf '{lines}'; exec cat) | exec \"$@\""
    shell = StdioServerParameters(command="sh", args=["-c", script, "sh", *place.command()])
    with open(os.devnull, "w") as quiet:
        sys.stderr.flush()
        kept = os.dup(2)
        os.dup2(quiet.fileno(), 2)  # the client logs the answers to the garbage
        try:
            async with Client(shell, mode=MODES[mode]) as client:
                assert "one" in text(await done(client, "read", path))
        finally:
            os.dup2(kept, 2)
            os.close(kept)


@check
def is_small_and_gone_at_the_end_of_input():
    ready = []
    for _ in range(9):
        server = Raw(Place())
        server.ask("server/discover")
        ready.append((time.perf_counter() - server.begun) * 1000)
        memory = server.memory()
        out, status, seconds = server.end()
        assert (out, status) == ([], 0), (out, status)
    print(f"     ready {statistics.median(ready):.1f} ms, idle {memory:.1f} MB, gone {seconds * 1000:.0f} ms after the end")
    assert memory < 8, f"{memory} MB"


@check
def says_what_calls_cost():
    place = Place()
    path = place.file("a.txt", "".join(f"line {n} of the file\n" for n in range(1000)))
    server = Raw(place)
    server.call("read", file_path=str(path))

    def median(count, function):
        times = []
        for n in range(count):
            begun = time.perf_counter()
            function(n)
            times.append(time.perf_counter() - begun)
        return statistics.median(times) * 1e6

    unknown = median(300, lambda n: server.ask("nonsense"))
    read = median(300, lambda n: server.call("read", file_path=str(path), offset=1, limit=10))
    words = lambda n: {"old_string": f"line 500 of {'the file' if n % 2 == 0 else 'a file'}",
                       "new_string": f"line 500 of {'a file' if n % 2 == 0 else 'the file'}"}
    edit = median(300, lambda n: server.call("edit", file_path=str(path), **words(n)))
    big = "x" * 99 + "\n"
    path = place.root / "big.txt"
    write = median(3, lambda n: server.call("write", file_path=str(path), content=f"{n}\n" + big * 100_000))
    print(f"     unknown method {unknown:.0f} µs, read {read:.0f} µs, edit {edit:.0f} µs, write of 10 MB {write / 1000:.0f} ms,"
          f" memory then {server.memory():.1f} MB")
    assert server.end()[1] == 0


@check
def calls_in_flight_are_finished_at_the_end_of_input():
    place = Place()
    server = Raw(place)
    for n in range(100):
        arguments = {"file_path": str(place.root / f"{n}.txt"), "content": f"{n}\n"}
        server.request("tools/call", name="write", arguments=arguments)
    out, status, _ = server.end()
    assert status == 0 and len(out) == 100, (status, len(out))
    assert sorted(int(it.stem) for it in place.root.iterdir()) == list(range(100))


@check
def a_client_that_no_longer_listens_leaves_no_half_file():
    place = Place()
    server = Raw(place)
    server.process.stdout.close()
    arguments = {"file_path": str(place.root / "a.txt"), "content": "x\n"}
    server.request("tools/call", name="write", arguments=arguments)
    server.process.stdin.close()
    assert server.process.wait(timeout=PATIENCE) == 0, f"ended by {server.process.returncode}: SIGPIPE must stay ignored"
    # The call stops as soon as the server notices that its output is closed, unless it has finished before.
    path = place.root / "a.txt"
    assert not path.exists() or path.read_text() == "x\n"


@check
def streams_need_not_be_pipes():
    # Node starts its servers over sockets; scripts feed files.
    place = Place()
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(place.command(), stdin=theirs, stdout=theirs)
    theirs.close()
    stream = ours.makefile("rwb")
    for n in range(3):
        stream.write(json.dumps({"jsonrpc": "2.0", "id": n, "method": "ping"}).encode() + b"\n")
        stream.flush()
        assert json.loads(stream.readline())["id"] == n
    ours.shutdown(socket.SHUT_WR)
    assert process.wait(timeout=PATIENCE) == 0 and stream.read() == b""
    arguments = {"file_path": str(place.root / "a.txt"), "content": "x\n"}
    params = {"name": "write", "arguments": arguments}
    calls = place.file("calls", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
    with open(calls) as source, open(place.root / "answers", "w+") as answers:
        subprocess.run(place.command(), stdin=source, stdout=answers, check=True, timeout=PATIENCE)
        answers.seek(0)
        assert json.loads(answers.read())["result"]["isError"] is False
    assert (place.root / "a.txt").read_text() == "x\n"


@check
def a_cancelled_call_is_whole_or_not_at_all():
    place = Place()
    server = Raw(place)
    for n in range(50):
        arguments = {"file_path": str(place.root / f"{n}.txt"), "content": f"{n}\n" * 1000}
        server.request("tools/call", name="write", arguments=arguments)
        note = {"requestId": server.last, "reason": "abandoned"}
        server.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": note}))
    assert server.end()[1] == 0
    assert all(it.read_text() == f"{it.stem}\n" * 1000 for it in place.root.iterdir())


@check
def huge_and_broken_lines_are_answered():
    server = Raw(Place())
    server.send("garbage")
    assert server.line()["error"]["code"] == -32700
    server.send('{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"\\ud800"}}')
    answer = server.line()
    assert (answer["error"]["code"], answer["id"]) == (-32700, 5), answer
    server.send('{"jsonrpc":"2.0","id":6,"method":"x","params":{"text":"' + "y" * (65 << 20) + '"}}')
    answer = server.line()
    assert (answer["error"]["code"], answer["id"]) == (-32600, 6), answer
    server.send("[" * 1_000_000)
    assert server.line()["error"]["code"] == -32700
    place_file = server.ask("tools/call", name="read", arguments={"file_path": "/none", "offset": "x" * 5_000_000})
    assert place_file["result"]["isError"] is True
    assert server.ask("tools/list")["result"]["tools"]
    assert server.end()[1] == 0


@in_every_mode
async def a_person_is_asked_where_a_rule_says_so(mode):
    place = Place()
    place.file("emend.toml", '[policy]\nask = ["Edit(*.txt)"]\n')
    path = place.file("a.txt", "one\ntwo\n")
    asked, answers = [], []

    async def person(_context, params):
        asked.append(params)
        return answers.pop(0)

    edit = {"old_string": "two", "new_string": "2"}
    async with place.client(mode, elicitation_callback=person) as client:
        await done(client, "read", path)
        answers.append(ElicitResult(action="decline"))
        await failed(client, "edit", path, "access.ask", 2, **edit)
        answers.append(ElicitResult(action="accept", content={"approve": False}))
        await failed(client, "edit", path, "access.ask", 2, **edit)
        assert path.read_text() == "one\ntwo\n"
        answers.append(ElicitResult(action="accept", content={"approve": True}))
        await done(client, "edit", path, **edit)
        assert path.read_text() == "one\n2\n"
        answers.append(ElicitResult(action="accept", content={"approve": True, "text": "one\nTWO\n"}))
        result = await done(client, "edit", path, old_string="2", new_string="3")
        assert path.read_text() == "one\nTWO\n" and data(result)["data"]["userModified"], text(result)
    assert len(asked) == 4 and "-two" in asked[0].message and "Edit(*.txt)" in asked[0].message, asked[0]
    async with place.client(mode) as client:
        await done(client, "read", path)  # another server is another session
        await failed(client, "edit", path, "access.ask", 2, old_string="TWO", new_string="3")


@check
def a_yes_is_to_what_was_shown():
    place = Place()
    place.file("emend.toml", '[policy]\nask = ["Edit(*.txt)"]\n')
    path = place.file("a.txt", "one\ntwo\n")
    raw = Raw(place)
    raw.call("read", file_path=str(path))
    able = {"elicitation": {"form": {}}}
    edit = {"name": "edit", "arguments": {"file_path": str(path), "old_string": "two", "new_string": "2"}}
    first = raw.ask("tools/call", capabilities=able, **edit)["result"]
    assert first["resultType"] == "input_required", first
    yes = {"approval": {"action": "accept", "content": {"approve": True}}}
    again = {**edit, "inputResponses": yes, "requestState": first["requestState"]}
    path.write_text("zero\none\ntwo\n")
    second = raw.ask("tools/call", capabilities=able, **again)["result"]
    assert second["resultType"] == "input_required" and second["requestState"] != first["requestState"], second
    forged = {**again, "requestState": "0" * 32 + " "}
    assert raw.ask("tools/call", capabilities=able, **forged)["result"]["resultType"] == "input_required"
    assert path.read_text() == "zero\none\ntwo\n"
    third = raw.ask("tools/call", capabilities=able, **{**again, "requestState": second["requestState"]})["result"]
    assert not third["isError"] and path.read_text() == "zero\none\n2\n", third


if __name__ == "__main__":
    sys.exit(run())
