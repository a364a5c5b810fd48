#!/usr/bin/env python3
"""Reads the grammars of `emend schema` with Lark: python grammars.py PATH_OF_EMEND

A grammar must accept the samples of the format's own prompt, the samples below, every form that the prompt teaches and
the headers that `read` prints, and must refuse texts that are not edits. The parser must accept every text that a
grammar accepts: this is tried with random changes of accepted texts, the same ones each time. Only what no grammar can
express is left to the parser: ranges that end before they start, lines that two operations name, unknown words.
"""

import os
import random
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


# Every operation that the prompts teach; `{n}` and `{m}` are lines, in this order.
FORMS = {
    "hashline": [
        "replace {n}..{m}:\n+x\n", "replace {n}:\n+x\n+\n", "replace {n}..{m} |fn a(|:\n+x\n", "replace block {n}:\n+x\n",
        "delete {n}..{m}\n", "delete {n}\n", "delete {n}..{m} |a|\n", "delete block {n}\n", "insert before {n}:\n+x\n",
        "insert after {n}:\n++x\n", "insert after block {n}:\n+-x\n", "insert head:\n+x\n", "insert tail:\n+x\n",
        "replace Web..DropLeaf:\n+x\n", "insert after Web:\n+x\n",
    ],
    "hashline_put": [
        "PUT {n}.={m}:\n+x\n", "PUT {n}:\n+x\n+\n", "PUT {n}*:\n+x\n", "PUT <{n}:\n++x\n", "PUT >{n}:\n+-x\n", "PUT >{n}*:\n+x\n",
        "PUT >$:\n+x\n", "CUT {n}.={m}\n", "CUT {n}\n", "CUT {n}*\n", "CUT {n}.={m} @name\n", "PUT Web.=DropLeaf:\n+x\n",
    ],
}
HEADERS = {"hashline": "¶{path}#1A2B\n", "hashline_put": "[{path}#1A2B]\n"}
# Texts that are made of the forms, changes of each, and signs that a change inserts.
TEXTS, CHANGES = 30, 20
SIGNS = " +-:.=*<>$@|#¶[]\"'0A9a\n\tü"


def formed(name, dice):
    """Texts of every form, alone and in sections with others on lines further down."""
    head = lambda: HEADERS[name].format(path=dice.choice(NAMES))
    for form in FORMS[name]:
        yield head() + form.format(n=3, m=5)
    for _ in range(TEXTS):
        sections = []
        for _ in range(dice.randint(1, 3)):
            line, ops = 1, ""
            for form in dice.choices([form for form in FORMS[name] if "Web" not in form], k=dice.randint(1, 4)):
                first = line + dice.randint(0, 3)
                last = first + dice.randint(0, 3)
                ops, line = ops + form.format(n=first, m=last), last + 2
            sections.append((head(), ops))
        # One section per file: its operations must not meet.
        if len({header for header, _ in sections}) == len(sections):
            text = "".join(header + ops for header, ops in sections)
            yield f"*** Begin Patch\n{text}*** End Patch\n" if dice.random() < 0.2 else text


def changed(text, dice):
    """The text with one random change."""
    lines = text.split("\n")
    at = dice.randrange(len(lines))
    kind = dice.randrange(6)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, dice.choice(lines))
    elif kind == 2:
        other = dice.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 3:
        lines[at] = dice.choice([str.lower, str.upper, str.strip, str.title])(lines[at])
    else:
        place = dice.randint(0, len(lines[at]))
        lines[at] = lines[at][:place] + (dice.choice(SIGNS) if kind == 4 else "") + lines[at][place + (kind == 5):]
    return "\n".join(lines)


# Rules that no grammar can express, in the parser's words.
BEYOND = ["ends before it starts", "is already targeted by another hunk", "named by a word that no line of any file has",
          "cannot be combined with the other operations on this file"]


def refusal(name, text):
    done = subprocess.run([EMEND, "preview", "--format", name], input=text, capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr


def slipped(name, grammar, texts, dice):
    """Changed texts that the grammar accepts and the parser refuses."""
    tried = {change for text in texts for change in [changed(text, dice) for _ in range(CHANGES)]}
    for text in sorted(text for text in tried if takes(grammar, text)):
        error = refusal(name, text)
        if error and not any(reason in error for reason in BEYOND):
            yield text, error


def prompted(name):
    """The sample of the prompt: from its header up to the blank line after it."""
    text = emend("prompt", name)
    lines = text.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith(("¶src", "[src")))
    last = next(at for at in range(first, len(lines)) if not lines[at])
    return "\n".join(lines[first:last]) + "\n"


failures = 0
for name in TAKEN:
    dice = random.Random(1)
    grammar = Lark(emend("schema", name), parser="earley")
    taken = TAKEN[name] + ([*minted(name), prompted(name), *formed(name, dice)] if name in DELETE else [])
    wrong = [text for text in taken if not takes(grammar, text)]
    wrong += [text for text in taken if not parses(name, text)]
    wrong += [text for text in REFUSED[name] if takes(grammar, text)]
    wrong += slipped(name, grammar, taken, dice)
    failures += len(wrong)
    print(f"{name}: {len(taken)} taken, {len(REFUSED[name])} refused" if not wrong else f"{name}: wrong: {wrong}")
sys.exit(1 if failures else 0)
