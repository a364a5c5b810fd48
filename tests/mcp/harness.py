"""Shared parts of the checks of run.py: work directories, clients for them, the list of checks."""

import asyncio
import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

os.environ["NO_PROXY"] = "127.0.0.1"  # a proxy for the registries does not lead to a local server
EMEND = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else sys.exit("usage: run.py PATH_OF_EMEND")
DATA = "io.github.emendate/data"
SIZE = "anthropic/maxResultSizeChars"
# Seconds after which a hanging step has failed; far more than any step takes on any machine.
PATIENCE = 120
MODERN, LEGACY = "2026-07-28", "2025-11-25"
# Protocol eras of the client, and transports.
MODES = {"modern": MODERN, "legacy": "legacy", "auto": "auto"}
MODES |= {f"{mode}, http": MODES[mode] for mode in list(MODES)}
checks = []
logging.disable(logging.CRITICAL)  # the client logs about servers that end properly


def check(function):
    checks.append(function)
    return function


class Place:
    """A new root and state directory, and clients of servers for them."""

    kept = []  # until the end: a directory is removed with the last reference to its place

    def __init__(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="emend-mcp-")
        Place.kept.append(self)
        base = Path(self.temporary.name).resolve()
        self.root, self.state = base / "root", base / "state"
        self.root.mkdir()
        self.environment = {}

    def command(self, *flags):
        return [EMEND, "--root", str(self.root), "--state", str(self.state), "mcp", *flags]

    def client(self, mode="auto", *flags, **options):
        if mode.endswith("http"):
            return self.http_client(mode, *flags, **options)
        command = self.command(*flags)
        environment = {**os.environ, **self.environment}
        server = StdioServerParameters(command=command[0], args=command[1:], env=environment)
        return Client(server, mode=MODES[mode], **options)

    @contextlib.asynccontextmanager
    async def http_client(self, mode, *flags, **options):
        with Http(self, *flags) as server:
            async with server.client(mode, **options) as client:
                yield client

    def file(self, name, text):
        path = self.root / name
        path.write_bytes(text.encode())
        return path


def text(result):
    return "".join(block.text for block in result.content)


def data(result):
    return result.meta[DATA]


async def call(client, tool, path, **fields):
    return await client.call_tool(tool, {"file_path": str(path), **fields})


async def done(client, tool, path, **fields):
    result = await call(client, tool, path, **fields)
    assert not result.is_error, text(result)
    return result


async def failed(client, tool, path, code, seed, **fields):
    result = await call(client, tool, path, **fields)
    assert result.is_error, text(result)
    assert (data(result)["code"], data(result)["seed_code"]) == (code, seed), data(result)
    assert data(result)["next"] and data(result)["next"] in text(result), text(result)
    return result


def in_every_mode(function):
    for mode in MODES:
        def one(mode=mode):
            return function(mode)
        one.__name__ = f"{function.__name__} ({mode})"
        check(one)
    return function


class Raw:
    """A server driven by raw lines, for messages that the client would never send and for timing."""

    def __init__(self, place, *flags):
        self.begun = time.perf_counter()
        command = place.command(*flags)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, **place.environment})
        self.last = 0

    def send(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, capabilities={}, **params):
        meta = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": capabilities}
        meta["io.modelcontextprotocol/clientInfo"] = {"name": "raw", "version": "1"}
        self.last += 1
        params = {**params, "_meta": meta}
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}))

    def line(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, method, **params):
        self.request(method, **params)
        answer = self.line()
        assert answer["id"] == self.last, answer
        return answer

    def call(self, name, **arguments):
        result = self.ask("tools/call", name=name, arguments=arguments)["result"]
        assert result["isError"] is False, result
        return result

    def end(self):
        """Ends the input; returns the remaining output, the exit status and the seconds until the end."""
        begun = time.perf_counter()
        out, err = self.process.communicate(timeout=PATIENCE)
        assert not err, err
        return out.decode().splitlines(), self.process.returncode, time.perf_counter() - begun

    def memory(self):
        """MiB of memory of its own. Pages of the program are not counted: their number depends on the build and the kernel."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("RssAnon:")[1].split()[0]) / 1024


class Http:
    """A server over HTTP. Leaving the context ends it by SIGTERM, and it must exit cleanly."""

    def __init__(self, place, *flags, token=None):
        environment = {**os.environ, **place.environment, **({"EMEND_HTTP_TOKEN": token} if token else {})}
        command = place.command("--http", "0", *flags)
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=environment)
        self.url = self.said("note: serving ")
        self.port = int(self.url.removesuffix("/mcp").rpartition(":")[2])
        self.token = token or self.said("note: token ")

    def said(self, begin):
        line = self.process.stderr.readline().rstrip()
        assert line.startswith(begin), line
        return line.removeprefix(begin)

    def headers(self):
        return {"Authorization": f"Bearer {self.token}"}

    @contextlib.asynccontextmanager
    async def client(self, mode="modern", path="", **options):
        async with create_mcp_http_client(headers=self.headers()) as http:
            transport = streamable_http_client(self.url + path, http_client=http)
            async with Client(transport, mode=MODES[mode], **options) as client:
                yield client

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=PATIENCE)
        assert (out, err, self.process.returncode) == ("", "", 0), (out, err, self.process.returncode)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.process.kill()
            self.process.communicate()
        else:
            self.end()


def run():
    passed, wrong = 0, []
    for function in checks:
        try:
            outcome = function()
            if asyncio.iscoroutine(outcome):
                asyncio.run(asyncio.wait_for(outcome, PATIENCE))
        except Exception as error:
            while isinstance(error, ExceptionGroup):
                error = error.exceptions[0]
            wrong.append(f"FAIL {function.__name__}: {error}")
            print(f"FAIL {function.__name__}")
            traceback.print_exception(error, file=sys.stdout)
        else:
            passed += 1
            print(f"ok   {function.__name__}", flush=True)
    print(f"{passed} passed, {len(wrong)} failed")
    # Once more: a log of a long run shows its last lines only.
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0

