"""Checks of the history as resources."""

import json

from harness import LEGACY, Place, check, data, done, in_every_mode, text
from mcp.shared.exceptions import MCPError


async def refused(call):
    try:
        await call
    except MCPError as error:
        return error.code, str(error)
    raise AssertionError("answered")


async def two(client, uri):
    diff, files = (await client.read_resource(uri)).contents
    assert diff.uri == files.uri == uri and files.mime_type == "application/json", diff
    return diff, json.loads(files.text)


@in_every_mode
async def operations_are_resources(mode):
    place = Place()
    names = ["ä b%.txt", "sub/c.txt"]
    (place.root / "sub").mkdir()
    for name in names:
        place.file(name, "one\n")
    place.file("gone.txt", "was here\n")
    patch = "*** Begin Patch\n" + "".join(f"*** Update File: {name}\n@@\n-one\n+two\n" for name in names)
    patch += "*** Delete File: gone.txt\n*** Add File: new.txt\n+fresh\n*** End Patch\n"
    async with place.client(mode) as client:
        if not mode.startswith("modern"):  # a client pinned to one version does not request them
            assert client.server_capabilities.resources is not None
        assert (await client.list_resources()).resources == []
        for name in [*names, "gone.txt"]:
            await done(client, "read", place.root / name)
        applied = await client.call_tool("apply", {"input": patch})
        assert not applied.is_error, text(applied)
        operation = data(applied)["data"]["operation"]
        [listed] = (await client.list_resources()).resources
        assert listed.uri == f"emend://history/{operation}" and "4 files" in listed.title, listed
        templates = (await client.list_resource_templates()).resource_templates
        assert [it.uri_template.partition("{id}")[2] for it in templates] == ["", "/before{+path}", "/after{+path}"]
        diff, told = await two(client, listed.uri)
        assert diff.mime_type == listed.mime_type == "text/x-diff" and "-one\n+two" in diff.text, diff.text
        files = {file["filePath"].rpartition("/")[2]: file for file in told["files"]}
        assert len(files) == 4, told
        for key, before, after in [("ä b%.txt", "one\n", "two\n"), ("c.txt", "one\n", "two\n"), ("gone.txt", "was here\n", None),
                                   ("new.txt", None, "fresh\n")]:
            for side, expected in [("beforeUri", before), ("afterUri", after)]:
                assert (side in files[key]) == (expected is not None), files[key]
                if expected is not None:
                    [content] = (await client.read_resource(files[key][side])).contents
                    assert (content.text, content.mime_type) == (expected, "text/plain"), content
        missing = -32002 if client.protocol_version == LEGACY else -32602
        for uri in ["emend://history/99-ffff", "emend://history/", "emend://other/1", "file:///etc/passwd", f"{listed.uri}/after",
                    f"{listed.uri}/between/x", f"{listed.uri}/after/etc/passwd", f"{listed.uri}/after{place.root}/gone.txt",
                    f"{listed.uri}/after{place.root}/sub/../sub/c.txt", "x" * 10_000]:
            code, _ = await refused(client.read_resource(uri))
            assert code == missing, (uri, code)
        assert (await refused(client.list_resources(cursor="nonsense")))[0] == -32602


@in_every_mode
async def the_list_has_pages(mode):
    place = Place()
    path = place.file("a.txt", "0\n")
    async with place.client(mode) as client:
        await done(client, "read", path)
        for n in range(120):
            await done(client, "write", path, content=f"{n + 1}\n")
        seen, cursor = [], None
        while True:
            page = await client.list_resources(cursor=cursor)
            seen += [int(it.name.partition("-")[0]) for it in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                break
            assert len(page.resources) == 50
        assert seen == sorted(set(seen), reverse=True) and len(seen) == 120, seen


@check
async def secrets_are_no_resources():
    place = Place()
    place.environment = {"EMEND_ALLOW": ".env"}
    path = place.file(".env", "KEY=hunter2\n")
    async with place.client("modern") as client:
        await done(client, "read", path)
        changed = await done(client, "edit", path, old_string="hunter2", new_string="hunter3", irreversible=True)
        operation = data(changed)["data"]["operation"]
        diff, told = await two(client, f"emend://history/{operation}")
        assert "hunter" not in diff.text + json.dumps(told), diff.text
        for side in ["before", "after"]:
            # The current content may be read from the file; the earlier content is not stored.
            try:
                found = (await client.read_resource(f"emend://history/{operation}/{side}{path}")).contents[0].text
            except MCPError:
                found = None
            assert found == {"before": None, "after": "KEY=hunter3\n"}[side], (side, found)
    place.environment = {}
    async with place.client("modern") as client:
        for uri in [f"emend://history/{operation}", f"emend://history/{operation}/after{path}"]:
            _, words = await refused(client.read_resource(uri))
            assert "hunter" not in words, words
