#!/usr/bin/env python3
"""Reads the grammars of `emend schema` with Lark: python grammars.py PATH_OF_EMEND

A grammar must accept the samples of the format's own prompt, the samples below and the headers that `read` prints, and
must refuse texts that are not edits. The parser must accept every text that a grammar accepts.
"""

import os
import subprocess
import sys
import tempfile

from lark import Lark
from lark.exceptions import LarkError

EMEND = sys.argv[1]

TAKEN = {
    "hashline": [
        "¶src/a.ts#1A2B\nreplace 4..6:\n+new\n+\ndelete 9\ninsert after 12:\n+text\n",
        "*** Begin Patch\n¶a#1A2B\nreplace block 3:\n+x\ninsert head:\n+y\n¶b#0000\ndelete block 1\n*** End Patch",
        "¶src/a.ts#1A2B\nreplace Table..DropLeaf:\n+x\ninsert before Complete:\n+y\n",
        "¶a#b.txt#1A2B\ninsert after block 3:\n+x\n",
        "¶app/[id]/page.tsx#1A2B\nreplace 4..6 |fn a(|:\n+x\n",
        "¶it's a \"name\" of [a] file#1A2B\nreplace 4 |a|: |:\n+[b#1A2B]\n+¶c#1A2B\n+```\n",
        "¶Update:#1A2B\ndelete 2\n",
    ],
    "hashline_put": [
        "[src/a.ts#1A2B]\nPUT 4.=6:\n+new\nCUT 9\nPUT >12:\n+text\n",
        "[a#1A2B]\nCUT 2.=3 @moved\nMV b\n[c#0000]\nPUT >$ @moved\n[d#FFFF]\nREM\n",
        "[a#1A2B]\nPUT Complete.=DropLeaf:\n+x\nCUT Table*\nPUT <Table:\n+\n",
        "[app/[id]/page.tsx#1A2B]\nPUT 3*:\n+x\nPUT >9*:\n+[b#1A2B]\nMV app/[id]/b c.tsx\n",
    ],
    "apply_patch": [
        "*** Begin Patch\n*** Update File: a\n@@ fn b\n x\n-y\n+z\n*** End of File\n*** Add File: c\n+d\n*** Delete File: e\n*** End Patch\n",
    ],
}
REFUSED = {
    "hashline": ["¶a#1A2B\n", "¶a#1A2B\nreplace 0..3:\n+x\n", "¶a#1A2B\nreplace 1..3:\nx\n", "replace 1..3:\n+x\n", "¶ #1A2B\ndelete 1\n", "¶\"#1A2B\ndelete 1\n", "¶a\ndelete 1\n", "¶a#1A2B\ndelete 1..\n", "¶a#1A2B\nreplace 1 ||:\n+x\n", "¶a#1A2B\ndelete 1\n+x\n"],
    "hashline_put": ["[a#1A2B]\nPUT 4.=6:\n", "[a#1A2B]\nPUT apple:\n+x\n", "[a#1a2b]\nCUT 1\n", "CUT 1\n"],
    "apply_patch": ["*** Begin Patch\n*** End Patch\n", "*** Begin Patch\n*** Add File: c\nd\n*** End Patch\n"],
}


NAMES = ["a b.txt", "a#b.txt", "app/[id]/page.tsx", "it's.txt", "#a", "¶a", "[a]", "C#/é.cs", "Update File", "a]", "x@y,z;"]
DELETE = {"hashline": "delete 1", "hashline_put": "CUT 1"}


def emend(*words, **how):
    return subprocess.run([EMEND, *words], check=True, capture_output=True, text=True, **how).stdout


def parses(name, text):
    return subprocess.run([EMEND, "preview", "--format", name], input=text, capture_output=True, text=True).returncode == 0


def takes(grammar, text):
    try:
        grammar.parse(text)
        return True
    except LarkError:
        return False


def minted(name):
    """Edits under the headers that `read` prints for files of unusual names."""
    with tempfile.TemporaryDirectory() as base:
        root = os.path.realpath(base)
        for path in NAMES:
            path = os.path.join(root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write("one\n")
            told = emend("--root", root, "--state", os.path.join(root, ".state"), "read", "--format", name, path, cwd=root)
            yield f"{told.splitlines()[0]}\n{DELETE[name]}\n"


def prompted(name):
    """The sample of the prompt: from its header up to the blank line after it."""
    text = emend("prompt", name)
    lines = text.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith(("¶src", "[src")))
    last = next(at for at in range(first, len(lines)) if not lines[at])
    return "\n".join(lines[first:last]) + "\n"


failures = 0
for name in TAKEN:
    grammar = Lark(emend("schema", name), parser="earley")
    taken = TAKEN[name] + ([*minted(name), prompted(name)] if name in DELETE else [])
    wrong = [text for text in taken if not takes(grammar, text)]
    wrong += [text for text in taken if not parses(name, text)]
    wrong += [text for text in REFUSED[name] if takes(grammar, text)]
    failures += len(wrong)
    print(f"{name}: {len(taken)} taken, {len(REFUSED[name])} refused" if not wrong else f"{name}: wrong: {wrong}")
sys.exit(1 if failures else 0)
