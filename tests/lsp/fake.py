"""A scripted language server for tests: `fake.py FAULT…`.

It reports a problem in every line with `bad` (an error), `ugly` (a warning) or `odd` (a hint); with `between`, also in
every line `needs X` while no open text has the line `has X`. With `references` it finds a word in the files next to a
text. Without a fault it answers `textDocument/diagnostic`; the faults on the command line change that, see `main`.
"""

import json
import os
import re
import signal
import sys
import time

FAULTS = set(sys.argv[1:])
INPUT, OUTPUT = sys.stdin.buffer, sys.stdout.buffer
WORDS = {"bad": 1, "ugly": 2, "odd": 4}


def wait_at(gate):
    """If a fault names a file for this gate, as in `gate=PATH`, waits until that file exists."""
    for fault in FAULTS:
        if fault.startswith(gate + "="):
            while not os.path.exists(fault.partition("=")[2]):
                time.sleep(0.01)


def receive():
    length = None
    while line := INPUT.readline():
        if line == b"\r\n":
            return json.loads(INPUT.read(length))
        name, _, text = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(text)
    return None


def send(message, more=False):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    OUTPUT.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    if not more:
        OUTPUT.flush()


def tell(method, params):
    send({"method": method, "params": params})


def units(text):
    """The length of a text in UTF-16 code units, the default of the protocol."""
    return len(text.encode("utf-16-le")) // 2


def problems(text):
    found = []
    for number, line in enumerate(text.split("\n")):
        for word, severity in WORDS.items():
            at = line.find(word)
            if at >= 0:
                start = {"line": number, "character": units(line[:at])}
                end = {"line": number, "character": start["character"] + len(word)}
                message = {"range": {"start": start, "end": end}, "severity": severity, "message": f"{word} thing"}
                found.append({**message, "source": "fake", "code": word})
    return found


def between(text, documents):
    """The problems of a text that depend on the other texts."""
    there = {line[4:] for document in documents.values() for line in document["text"].split("\n") if line.startswith("has ")}
    found = []
    for number, line in enumerate(text.split("\n")):
        if "between" in FAULTS and line.startswith("needs ") and line[6:] not in there:
            start, end = {"line": number, "character": 0}, {"line": number, "character": units(line)}
            found.append({"range": {"start": start, "end": end}, "severity": 1, "message": f"nobody has {line[6:]}",
                          "source": "fake", "code": "needs"})
    return found


def changed(text, changes):
    for change in changes:
        if "range" not in change:
            text = change["text"]
            continue
        lines = text.split("\n")
        at = []
        for edge in ("start", "end"):
            position = change["range"][edge]
            before = sum(len(line) + 1 for line in lines[: position["line"]])
            wide = lines[position["line"]].encode("utf-16-le")[: 2 * position["character"]]
            at.append(before + len(wide.decode("utf-16-le")))
        text = text[: at[0]] + change["text"] + text[at[1] :]
    return text


def publish(uri, document):
    params = {"uri": uri, "diagnostics": problems(document["text"])}
    if "unversioned" not in FAULTS:
        params["version"] = document["version"] - (1 if "wrong-version" in FAULTS else 0)
    if "stale" in FAULTS and document["old"] is not None:
        # The result for the text before the change is also published after it.
        tell("textDocument/publishDiagnostics", {"uri": uri, "diagnostics": problems(document["old"])})
        if "only" in FAULTS:
            return
    if "other-file" in FAULTS:
        params["uri"] += ".other"
    wait_at("gate")
    tell("textDocument/publishDiagnostics", params)


def references(params, text):
    """Every line with the word at a position, in the files next to a text."""
    at, path = params["position"], params["textDocument"]["uri"].removeprefix("file://")
    word = re.match(r"\w+", text.split("\n")[at["line"]][at["character"]:]).group()
    found = []
    for name in sorted(os.listdir(os.path.dirname(path))):
        beside = os.path.join(os.path.dirname(path), name)
        for number, line in enumerate(open(beside).read().split("\n") if name.endswith(".py") else []):
            if re.search(rf"\b{word}\b", line):
                start = {"line": number, "character": line.index(word)}
                found.append({"uri": "file://" + beside, "range": {"start": start, "end": start}})
    return found


def log(method, params):
    """Appends a received message to the log file that a test asks for."""
    if path := os.environ.get("FAKE_LOG"):
        with open(path, "a") as file:
            print(method, json.dumps(params), file=file)


def main():
    if "deaf-to-signals" in FAULTS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if path := os.environ.get("FAKE_PIDS"):
        with open(path, "a") as file:
            print(os.getpid(), file=file)
    if "dies-at-start" in FAULTS:
        sys.exit("no license for this")
    if "garbage" in FAULTS:
        OUTPUT.write(b"Hello, I am a server!\n" * 10)
        OUTPUT.flush()
    if "huge-header" in FAULTS:
        OUTPUT.write(b"X" * (1 << 20))
        OUTPUT.flush()
    if "huge-length" in FAULTS:
        OUTPUT.write(b"Content-Length: 99999999999\r\n\r\n")
        OUTPUT.flush()
    if "mute" in FAULTS:
        time.sleep(600)
    documents, questions, loaded = {}, 0, False
    while message := receive():
        method, params = message.get("method"), message.get("params")
        log(method, params if method else message)
        if method == "initialize":
            if "refuses" in FAULTS:
                send({"id": message["id"], "error": {"code": -32000, "message": "not in this folder"}})
                continue
            wait_at("start-gate")
            sync = {"openClose": True, "change": 1 if "full" in FAULTS else 2, "save": {"includeText": True}}
            abilities = {"textDocumentSync": sync}
            if "push" not in FAULTS:
                abilities["diagnosticProvider"] = {"interFileDependencies": "between" in FAULTS, "workspaceDiagnostics": False}
            if "references" in FAULTS:
                abilities["referencesProvider"] = True
            send({"id": message["id"], "result": {"capabilities": abilities}})
        elif method == "initialized":
            if "loads" in FAULTS:
                tell("experimental/serverStatus", {"health": "ok", "quiescent": False})
            if "curious" in FAULTS:
                items = [{"section": "fake.level"}, {"section": "none"}]
                send({"id": "c", "method": "workspace/configuration", "params": {"items": items}})
                send({"id": "u", "method": "emend/unknown", "params": {}})
        elif method in ("textDocument/didOpen", "textDocument/didChange"):
            document = params["textDocument"]
            uri, old = document["uri"], documents.get(document["uri"])
            if method == "textDocument/didOpen":
                text = document["text"]
            else:
                text = changed(old["text"], params["contentChanges"])
            documents[uri] = {"text": text, "version": document["version"], "old": old and old["text"]}
            if "dies-at-text" in FAULTS or ("dies-of-bad" in FAULTS and "bad" in text):
                sys.exit("cannot go on")
            if "push" in FAULTS and "loads" in FAULTS and not loaded:
                loaded = True
                # As below: the reply before loading has finished is wrong; the correct one follows a little later.
                version = document["version"]
                tell("textDocument/publishDiagnostics", {"uri": uri, "version": version, "diagnostics": []})
                time.sleep(2.2)
                tell("experimental/serverStatus", {"health": "ok", "quiescent": True})
                time.sleep(0.02)
            if "push" in FAULTS:
                publish(uri, documents[uri])
        elif method == "textDocument/didClose":
            documents.pop(params["textDocument"]["uri"], None)
        elif method == "textDocument/diagnostic":
            questions += 1
            wait_at("gate")
            if "hangs" in FAULTS:
                time.sleep(600)
            if "cancels" in FAULTS and questions % 2:
                send({"id": message["id"], "error": {"code": -32802, "message": "busy"}})
                continue
            text = documents[params["textDocument"]["uri"]]["text"]
            found = problems(text) + between(text, documents)
            if "loads" in FAULTS and questions == 1:
                # Still loading: an empty reply, then the status in the same write, so that both arrive together.
                send({"id": message["id"], "result": {"kind": "full", "items": []}}, more=True)
                tell("experimental/serverStatus", {"health": "ok", "quiescent": True})
                continue
            send({"id": message["id"], "result": {"kind": "full", "items": found}})
        elif method == "textDocument/references" and "references" in FAULTS:
            text = documents[params["textDocument"]["uri"]]["text"]
            send({"id": message["id"], "result": references(params, text)})
        elif method == "shutdown":
            if "never-stops" in FAULTS:
                continue
            send({"id": message["id"], "result": None})
        elif method == "exit":
            if "never-stops" not in FAULTS:
                return
        elif "id" in message and method:
            send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
    if "never-stops" in FAULTS:
        time.sleep(600)


main()
