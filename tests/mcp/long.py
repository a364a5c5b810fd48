"""Checks of long calls: progress, cancellation, and other calls served meanwhile."""

import asyncio
import os
import time

from harness import PATIENCE, Http, Place, Raw, check, done, failed, in_every_mode, text


class Held(Place):
    """A place where an edit of `held.txt` waits in a hook until `let_go`."""

    def __init__(self, files):
        super().__init__()
        for n in range(files):
            self.file(f"{n:03}.txt", "old\n")
        self.held = self.file("held.txt", "old\n")
        base = self.root.parent
        self.begun, self.gate = base / "begun", base / "gate"
        for pipe in (self.begun, self.gate):
            os.mkfifo(pipe)
        home = base / "config"
        (home / "emendate").mkdir(parents=True)
        script = f"cat > /dev/null; exec 3> {self.begun}; read -r line < {self.gate}"
        (home / "emendate" / "config.toml").write_text(
            "[[hooks]]\non = 'before_edit'\nfiles = 'held.txt'\nseconds = 600\n"
            f"command = ['sh', '-c', '''{script}''']\n")
        self.environment = {"XDG_CONFIG_HOME": str(home)}

    async def wait_until_held(self):
        """Waits until the hook runs, and returns a pipe that ends when the hook ends."""
        return await asyncio.to_thread(open, self.begun, "rb")

    async def let_go(self):
        await asyncio.to_thread(self.gate.write_text, "go\n")

    def untouched(self):
        return all(it.read_text() == "old\n" for it in self.root.iterdir())


class Told(asyncio.Event):
    """The progress notes of a call."""

    def __init__(self):
        super().__init__()
        self.notes = []

    async def __call__(self, progress, total, message):
        assert not self.notes or progress > self.notes[-1][0], "it must rise"
        self.notes.append((progress, total, message))
        self.set()

    async def ends_with(self, note):
        """Waits for a note. The number of notes before it depends on the speed of the machine."""
        try:
            async with asyncio.timeout(PATIENCE / 2):
                while not self.notes or self.notes[-1] != note:
                    self.clear()
                    await self.wait()
        except TimeoutError:
            raise AssertionError(self.notes) from None


@in_every_mode
async def a_long_call_is_followed_and_others_are_served_meanwhile(mode):
    place, told = Held(300), Told()
    replace = {"path": str(place.root), "old_string": "old", "new_string": "new", "expected": 301}
    async with place.client(mode, "--profile", "full") as client:
        call = asyncio.ensure_future(client.call_tool("replace_in_files", replace, progress_callback=told))
        pipe = await place.wait_until_held()
        await told.ends_with((602, 602, "reading: 301 of 301 files"))  # while it is held
        assert "old" in text(await done(client, "read", place.held))
        assert place.untouched() and not call.done()
        await place.let_go()
        result = await call
        pipe.close()
        assert not result.is_error and place.held.read_text() == "new\n", text(result)


@in_every_mode
async def a_cancelled_call_stops_before_it_writes(mode):
    place = Held(20)
    replace = {"path": str(place.root), "old_string": "old", "new_string": "new", "expected": 21}
    async with place.client(mode, "--profile", "full") as client:
        call = asyncio.ensure_future(client.call_tool("replace_in_files", replace))
        pipe = await place.wait_until_held()
        call.cancel()
        # The gate stays closed: the hook ends because the call ends.
        assert await asyncio.to_thread(pipe.read) == b""
        pipe.close()
        await asyncio.gather(call, return_exceptions=True)
        found = await client.call_tool("search", {"path": str(place.root), "pattern": "new"})
        assert "No hits in 21 files" in text(found), text(found)
        assert place.untouched()


@check
def a_call_ends_when_its_client_no_longer_listens():
    place = Held(20)
    server = Raw(place, "--profile", "full")
    replace = {"path": str(place.root), "old_string": "old", "new_string": "new", "expected": 21}
    server.request("tools/call", name="replace_in_files", arguments=replace)
    with open(place.begun, "rb") as pipe:
        server.process.stdout.close()
        # The gate stays closed and the input open: the hook ends because no client waits for the answer.
        assert pipe.read() == b""
    server.process.stdin.close()
    assert server.process.wait(timeout=PATIENCE) == 0
    assert place.untouched()


@in_every_mode
async def short_calls_tell_no_progress(mode):
    place = Place()
    names = [f"{n}.txt" for n in range(40)]
    for name in names:
        place.file(name, "old\n")
    patch = "*** Begin Patch\n" + "".join(f"*** Update File: {name}\n@@\n-old\n+new\n" for name in names) + "*** End Patch\n"
    async with place.client(mode) as client:
        told, begun = Told(), time.monotonic()
        await client.call_tool("search", {"path": str(place.root), "pattern": "old"}, progress_callback=told)
        applied = await client.call_tool("apply", {"input": patch}, progress_callback=told)
        assert not applied.is_error, text(applied)
        # A note together with the answer makes some clients report a dropped connection. A call may tell its progress
        # once it takes a second, as it does on a machine that is busy.
        assert not told.notes or time.monotonic() - begun > 1, told.notes


@check
async def a_server_that_shall_end_finishes_what_it_does():
    place = Held(3)
    replace = {"path": str(place.root), "old_string": "old", "new_string": "new", "expected": 4}
    with Http(place, "--profile", "full") as server:
        async with server.client("modern") as client:
            await client.list_tools()  # the client looks the tool up after a call, when the server no longer answers
            call = asyncio.ensure_future(client.call_tool("replace_in_files", replace))
            pipe = await place.wait_until_held()
            server.process.terminate()
            # Once the server has seen the signal, it accepts no connection.
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
                except ConnectionRefusedError:
                    break
                except ConnectionResetError:
                    continue  # the listener closed at this moment
                writer.close()
            await place.let_go()
            assert not (await call).is_error and place.held.read_text() == "new\n"
            pipe.close()


@check
async def a_second_signal_stops_what_has_not_begun_to_write():
    place = Held(3)
    replace = {"path": str(place.root), "old_string": "old", "new_string": "new", "expected": 4}
    with Http(place, "--profile", "full") as server:
        async with server.client("legacy") as client:
            call = asyncio.ensure_future(client.call_tool("replace_in_files", replace))
            pipe = await place.wait_until_held()
            server.process.terminate()
            server.process.send_signal(2)
            assert await asyncio.to_thread(pipe.read) == b""
            pipe.close()
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
    assert place.untouched()
