"""Edits by tools written in Python: `accuracy.py TOOL` reads a list of tasks and prints a list of texts, null for refusals.

A task is {"text", "old", "new", "unified", "v4a", "hunk"}.
"""

import importlib.util
import io
import json
import os
import sys
import types


def stand_in(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    return module


def aider():
    """aider's matcher without what it imports for other ends: the models, the terminal, the repository map."""
    import aider

    folder = os.path.join(os.path.dirname(aider.__file__), "coders")
    stand_in("aider.coders").__path__ = [folder]
    stand_in("aider.coders.base_coder", Coder=object)
    stand_in("aider.waiting", Spinner=object)
    stand_in("oslex")
    stand_in("tqdm", tqdm=None)
    from aider.coders.editblock_coder import replace_most_similar_chunk

    return lambda task: replace_most_similar_chunk(task["text"], task["old"] + "\n", task["new"] + "\n")


def codex_apply_patch():
    import codex_apply_patch

    return lambda task: codex_apply_patch.apply_patch_in_memory(task["v4a"], {"f.rs": task["text"]}).files["f.rs"]


def whatthepatch():
    import whatthepatch

    def edit(task):
        (diff,) = whatthepatch.parse_patch(task["unified"])
        lines = whatthepatch.apply_diff(diff, task["text"])
        return "\n".join(lines) + ("\n" if task["text"].endswith("\n") else "")

    return edit


def apply_diff():
    """The function of the Agents SDK, without the rest of it."""
    folder = importlib.util.find_spec("agents").submodule_search_locations[0]
    spec = importlib.util.spec_from_file_location("apply_diff", os.path.join(folder, "apply_diff.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules["apply_diff"] = module
    spec.loader.exec_module(module)
    return lambda task: module.apply_diff(task["text"], "@@\n" + task["hunk"])


TOOLS = {
    "aider": aider,
    "codex-apply-patch": codex_apply_patch,
    "whatthepatch": whatthepatch,
    "apply_diff": apply_diff,
}


def answer(edit, task):
    if task["text"] is None:
        return None
    try:
        made = edit(task)
    except Exception:
        return None
    return made if isinstance(made, str) and made else None


def main():
    edit = TOOLS[sys.argv[1]]()
    tasks = json.load(io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", newline=""))
    said, sys.stdout = sys.stdout, sys.stderr
    json.dump([answer(edit, task) for task in tasks], said)


main()
