"""Times difflib over the windows of a text: `difflib_windows.py REQUEST` reads {"text", "old", "seconds"} and prints
{"time", "step"}: the seconds that all windows take, scaled up where only every `step`th was compared.

As in aider's replace_closest_edit_distance, windows are from a tenth shorter to a tenth longer than the old text.
"""

import json
import sys
from difflib import SequenceMatcher
from time import perf_counter

with open(sys.argv[1], encoding="utf-8") as file:
    asked = json.load(file)
old, lines = asked["old"], asked["text"].splitlines()
count = len(old.splitlines())
lengths = range(count * 9 // 10, count * 11 // 10 + 1)
windows = [(at, length) for length in lengths for at in range(len(lines) - length + 1)]


def likeness(step):
    best = 0
    start = perf_counter()
    for at, length in windows[::step]:
        best = max(best, SequenceMatcher(None, "\n".join(lines[at : at + length]), old).ratio())
    return perf_counter() - start


step = max(1, len(windows) // 50)
trial = likeness(step) * step
step = max(1, round(trial / asked["seconds"] + 0.5))
print(json.dumps({"time": likeness(step) * step, "step": step}))
