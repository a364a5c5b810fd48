"""Checks of the profiles: the tool names, fields and texts that each kind of client knows."""

import json

from harness import Place, check, data, done, in_every_mode, text


async def tools_of(client):
    return {tool.name: set(tool.input_schema["properties"]) for tool in (await client.list_tools()).tools}


async def answered(client, name, error=None, **fields):
    result = await client.call_tool(name, fields)
    assert result.is_error == bool(error), text(result)
    if error:
        assert data(result)["code"] == error, data(result)
    return text(result)


@check
async def the_codex_profile_patches():
    place = Place()
    path = place.file("a.txt", "one\ntwo\n")
    place.file("b.md", "two\n")
    async with place.client("auto", "--profile", "codex") as client:
        fields = await tools_of(client)
        assert fields == {"apply_patch": {"input"}, "read_file": {"file_path", "offset", "limit"},
                          "grep_files": {"pattern", "path", "include", "limit"}}, fields
        patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** Add File: sub/new.txt\n+fresh\n*** End Patch"
        await answered(client, "apply_patch", error="read.required", input=patch)
        hits = await answered(client, "grep_files", pattern="two", path=str(place.root), include="*.txt")
        assert "a.txt" in hits and "b.md" not in hits, hits
        await answered(client, "grep_files", pattern="two", path=str(place.root), include=["*.txt", "*.md"])
        await answered(client, "read_file", file_path=str(path), limit=2)
        await answered(client, "apply_patch", input=patch)
        assert path.read_text() == "one\n2\n" and (place.root / "sub/new.txt").read_text() == "fresh\n"
        # A patch inside a shell command, as some models write it.
        shell = f"apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: {place.root}/sub/new.txt\n*** End Patch\nEOF\n"
        await answered(client, "apply_patch", input=shell)
        assert not (place.root / "sub/new.txt").exists()


@in_every_mode
async def the_anthropic_profile_is_their_text_editor(mode):
    place = Place()
    path = place.file("a.txt", "one\ntwo\nthree\n")
    (place.root / "sub" / "deep" / "deeper").mkdir(parents=True)
    for name in ["sub/b.txt", "sub/deep/c.txt", ".hidden", "sub/id_rsa"]:
        place.file(name, "x\n")
    (place.root / "node_modules").mkdir()

    async with place.client(mode, "--profile", "anthropic") as client:
        fields = await tools_of(client)
        assert fields == {"str_replace_based_edit_tool": {
            "command", "path", "file_text", "old_str", "new_str", "insert_line", "insert_text", "view_range"}}, fields

        async def tool(command, path, error=None, **more):
            return await answered(client, "str_replace_based_edit_tool", error, command=command, path=str(path), **more)

        await tool("str_replace", path, "read.required", old_str="two", new_str="2")
        await tool("insert", path, "read.required", insert_line=1, insert_text="1.5")
        seen = await tool("view", path)
        assert seen == f"Here's the result of running `cat -n` on {path}:\n     1\tone\n     2\ttwo\n     3\tthree\n", seen
        assert (await tool("view", path, view_range=[2, -1])).endswith(":\n     2\ttwo\n     3\tthree\n")
        assert "     2\ttwo\n" in await tool("view", path, view_range=[2, 2])
        for wrong in [[0, 1], [3, 2], [1, -2]]:
            await tool("view", path, "call.invalid", view_range=wrong)
        listed = (await tool("view", place.root)).splitlines()[1:]
        here = str(place.root)
        assert listed == [here, f"{here}/a.txt", f"{here}/sub/", f"{here}/sub/b.txt", f"{here}/sub/deep/"], listed
        await tool("view", place.root, "call.invalid", view_range=[1, 2])
        await tool("view", "/etc", "path.outside")

        edited = await tool("str_replace", path, old_str="two", new_str="2")
        assert edited.startswith(f"The file {path} has been edited. Here's the result of running `cat -n` on a snippet"), edited
        assert ">     2\t2\n" in edited and edited.endswith("Edit the file again if necessary.\n"), edited
        assert path.read_text() == "one\n2\nthree\n"
        inserted = await tool("insert", path, insert_line=1, insert_text="1.5\n1.6")
        assert ">     2\t1.5\n>     3\t1.6\n" in inserted and path.read_text() == "one\n1.5\n1.6\n2\nthree\n", inserted
        await tool("insert", path, insert_line=0, insert_text="zero\n")
        await tool("insert", path, insert_line=6, new_str="last")
        assert path.read_text() == "zero\none\n1.5\n1.6\n2\nthree\nlast\n"
        await tool("insert", path, "read.range", insert_line=99, insert_text="x")
        # Another program adds a line above: the insertion follows its line.
        path.write_text("new\n" + path.read_text())
        await tool("insert", path, insert_line=2, insert_text="after one")
        assert path.read_text().startswith("new\nzero\none\nafter one\n1.5\n"), path.read_text()
        # Another program rewrites the line itself.
        await tool("view", path)
        path.write_text(path.read_text().replace("1.5", "1,5").replace("after one", "AFTER"))
        told = await tool("insert", path, "stale.changed", insert_line=4, insert_text="x")
        assert '"command":"view"' in told and "¶" not in told, told
        await tool("str_replace", path, "match.not_found", old_str="nowhere", new_str="x")

        made = place.root / "made" / "d.txt"
        assert await tool("create", made, file_text="x\n") == f"File created successfully at: {made}\n"
        assert "has been updated" in await tool("create", made, file_text="y\n") and made.read_text() == "y\n"
        await tool("create", place.root / "sub/b.txt", "read.required", file_text="y\n")
        await tool("undo_edit", made)
        assert made.read_text() == "x\n"


@check
async def the_aider_profile_takes_blocks():
    place = Place()
    path = place.file("a.txt", "one\ntwo\n")
    async with place.client("auto", "--profile", "aider") as client:
        fields = await tools_of(client)
        assert list(fields) == ["read", "search", "edit", "undo"] and fields["edit"] == {"input", "directory", "dry_run"}, fields
        blocks = "a.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n\nnew.txt\n<<<<<<< SEARCH\n=======\nfresh\n>>>>>>> REPLACE\n"
        await answered(client, "edit", error="read.required", input=blocks)
        await done(client, "read", path)
        await answered(client, "edit", input=blocks)
        assert path.read_text() == "one\n2\n" and (place.root / "new.txt").read_text() == "fresh\n"
        await answered(client, "undo")
        assert path.read_text() == "one\ntwo\n" and not (place.root / "new.txt").exists()


@check
async def notebooks_are_edited_by_edit_and_as_an_error_says():
    place = Place()
    cell = {"cell_type": "code", "execution_count": None, "id": "a1", "metadata": {}, "outputs": [], "source": ["x = 1"]}
    path = place.file("n.ipynb", json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    async with place.client("auto") as client:
        fields = (await tools_of(client))["edit"]
        assert fields >= {"file_path", "old_string", "cell_id", "cell_number", "new_source", "cell_type", "edit_mode"}, fields
        await done(client, "read", path)
        refused = await client.call_tool("edit", {"file_path": str(path), "old_string": "x = 1", "new_string": "x = 2"})
        assert data(refused)["seed_code"] == 5 and "Call edit with" in text(refused), text(refused)
        begin = text(refused).index('{"file_path"')
        call, _ = json.JSONDecoder().raw_decode(text(refused)[begin:])
        await answered(client, "edit", **call)
        assert json.loads(path.read_text())["cells"][0]["source"] == ["x = 2"], path.read_text()
        await answered(client, "edit", notebook_path=str(path), edits=[{"cell_id": "a1", "new_source": "x = 3"}])
        assert json.loads(path.read_text())["cells"][0]["source"] == ["x = 3"], path.read_text()
        await answered(client, "edit", file_path=str(path), edit_mode="insert", cell_id="a1", cell_type="markdown", new_source="text")
        await answered(client, "edit", file_path=str(path), edit_mode="delete", cell_number=0)
        assert [cell["source"] for cell in json.loads(path.read_text())["cells"]] == [["text"]], path.read_text()
