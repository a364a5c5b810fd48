#!/usr/bin/env python3
"""Reads the grammars of `emend schema` with Lark: python grammars.py PATH_OF_EMEND

What the formats' own prompts show must be taken, and so must the samples below; what is no edit must not.
"""

import subprocess
import sys

from lark import Lark
from lark.exceptions import LarkError

EMEND = sys.argv[1]

TAKEN = {
    "hashline": [
        "¶src/a.ts#1A2B\nreplace 4..6:\n+new\n+\ndelete 9\ninsert after 12:\n+text\n",
        "*** Begin Patch\n¶a#1A2B\nreplace block 3:\n+x\ninsert head:\n+y\n¶b#0000\ndelete block 1\n*** End Patch",
        "¶src/a.ts\nreplace Table..DropLeaf:\n+x\ninsert before Apple:\n+y\n",
    ],
    "hashline_put": [
        "[src/a.ts#1A2B]\nPUT 4.=6:\n+new\nCUT 9\nPUT >12:\n+text\n",
        "[a#1A2B]\nCUT 2.=3 @moved\nMV b\n[c#0000]\nPUT >$ @moved\n[d#FFFF]\nREM\n",
        "[a]\nPUT Apple.=DropLeaf:\n+x\nCUT Table*\nPUT <Table:\n+\n",
    ],
    "apply_patch": [
        "*** Begin Patch\n*** Update File: a\n@@ fn b\n x\n-y\n+z\n*** End of File\n*** Add File: c\n+d\n*** Delete File: e\n*** End Patch\n",
    ],
}
REFUSED = {
    "hashline": ["¶a#1A2B\n", "¶a#1A2B\nreplace 0..3:\n+x\n", "¶a#1A2B\nreplace 1..3:\nx\n", "replace 1..3:\n+x\n"],
    "hashline_put": ["[a#1A2B]\nPUT 4.=6:\n", "[a#1A2B]\nPUT apple:\n+x\n", "[a#1a2b]\nCUT 1\n", "CUT 1\n"],
    "apply_patch": ["*** Begin Patch\n*** End Patch\n", "*** Begin Patch\n*** Add File: c\nd\n*** End Patch\n"],
}


def emend(*words):
    return subprocess.run([EMEND, *words], check=True, capture_output=True, text=True).stdout


def takes(grammar, text):
    try:
        grammar.parse(text)
        return True
    except LarkError:
        return False


failures = 0
for name in TAKEN:
    grammar = Lark(emend("schema", name), parser="earley")
    wrong = [text for text in TAKEN[name] if not takes(grammar, text)]
    wrong += [text for text in REFUSED[name] if takes(grammar, text)]
    failures += len(wrong)
    print(f"{name}: {len(TAKEN[name])} taken, {len(REFUSED[name])} refused" if not wrong else f"{name}: wrong: {wrong}")
sys.exit(1 if failures else 0)
