"""Times Python matchers on the cases of `bench -- cascade`, all in this one process.

`matchers.py CASES` reads {"text", "seconds", "rounds", "cases": [{"kind", "old", "new", "want", "similar"}]} and
prints {"versions", "rows": [{"kind", "name", "times", "end"}]}. `want` is null where nothing may be found, `similar`
asks for difflib too, `end` is "right", "wrong", "not found", "stopped" or "failed".
"""

import json
import os
import signal
import sys
import types
from difflib import SequenceMatcher
from importlib.metadata import version
from time import perf_counter


class Stopped(BaseException):
    """A call took longer than it may; not an Exception, so that no matcher catches it."""


def stop(*_):
    raise Stopped


def stand_in(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    return module


def matchers():
    """aider's modules without what they import for other ends: the models, the terminal, the repository map."""
    import aider

    folder = os.path.join(os.path.dirname(aider.__file__), "coders")
    stand_in("aider.coders").__path__ = [folder]
    stand_in("aider.coders.base_coder", Coder=object)
    stand_in("aider.waiting", Spinner=object)
    stand_in("oslex")
    stand_in("tqdm", tqdm=None)
    from aider.coders import editblock_coder, search_replace

    return editblock_coder, search_replace


def timed(what, seconds):
    """What a call answers and how long it took; the answer is Stopped when it took too long, or what it raised."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    start = perf_counter()
    try:
        answer = what()
    except Stopped:
        answer = Stopped
    except Exception as error:
        # One matcher that cannot run (no git, say) takes only its own rows along.
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        answer = error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return answer, perf_counter() - start


def repeated(what, seconds, rounds):
    """The last answer and the times: as many rounds as asked, fewer when they take long."""
    times = []
    while len(times) < rounds and sum(times) < seconds / 2:
        answer, time = timed(what, seconds)
        times.append(time)
        if answer is Stopped or isinstance(answer, Exception):
            break
    return answer, times


def end(answer, want):
    if answer is Stopped:
        return "stopped"
    if isinstance(answer, Exception):
        return "failed"
    if not answer:
        return "right" if want is None else "not found"
    return "right" if answer == want else "wrong"


def likeness(old, lines, step):
    """The windows of aider's find_similar_lines, every `step`th of them: the best ratio and where it is."""
    best = (0, None)
    for at in range(0, len(lines) - len(old) + 1, step):
        ratio = SequenceMatcher(None, old, lines[at : at + len(old)]).ratio()
        if ratio > best[0]:
            best = (ratio, at)
    return best


def difflib_row(text, case, seconds):
    """Where difflib sees the place. One round; with fewer windows, and their time scaled up, where all take too long."""
    old, lines = case["old"].splitlines(), text.splitlines()
    _, trial = timed(lambda: likeness(old, lines, 100), seconds)
    step = max(1, round(trial * 100 / seconds + 0.5)) if trial * 100 > seconds else 1
    (ratio, at), time = timed(lambda: likeness(old, lines, step), seconds * 4)
    name = "difflib over windows" if step == 1 else f"difflib, 1 of {step} windows, scaled up"
    row = {"kind": case["kind"], "name": name, "times": [time * step], "end": "right"}
    if step == 1 and case["want"] is not None:
        # Where the edit is told apart from the text is the place.
        same = next(nth for nth, pair in enumerate(zip(lines, case["want"].splitlines())) if pair[0] != pair[1])
        row["end"] = "right" if ratio >= 0.6 and at <= same < at + len(old) else "not found"
    return row


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        asked = json.load(file)
    text, seconds, rounds = asked["text"], asked["seconds"], asked["rounds"]
    editblock, flexible = matchers()
    signal.signal(signal.SIGALRM, stop)
    rows = []

    def row(case, name, what):
        answer, times = repeated(what, seconds, rounds)
        rows.append({"kind": case["kind"], "name": name, "times": times, "end": end(answer, case["want"])})

    for case in asked["cases"]:
        old, new = case["old"], case["new"]
        row(case, "aider replace_most_similar_chunk", lambda: editblock.replace_most_similar_chunk(text, old, new))
        # What aider's udiff format calls: literal, then git cherry-pick, then diff-match-patch by lines.
        texts = (old, new, text)
        strategies = flexible.udiff_strategies
        row(case, "aider search_replace", lambda: flexible.flexible_search_and_replace(texts, strategies))
        if case["want"] is None:
            # aider's whole failure: nothing found, then the passage that it shows the model.
            def failure():
                found = editblock.replace_most_similar_chunk(text, old, new)
                if not found:
                    editblock.find_similar_lines(old, text)
                return found

            row(case, "aider not found + find_similar_lines", failure)
        if case["similar"]:
            rows.append(difflib_row(text, case, seconds))
    python = "{}.{}.{}".format(*sys.version_info[:3])
    versions = {"python": python, **{name: version(name) for name in ("aider-chat", "diff-match-patch", "GitPython")}}
    print(json.dumps({"versions": versions, "rows": rows}))


main()
