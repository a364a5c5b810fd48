"""Times codex-apply-patch in process, in memory: one patch, one file, many rounds."""

import json
import sys
import time

import codex_apply_patch

asked = json.load(open(sys.argv[1], encoding="utf-8"))
times, made = [], None
for _ in range(asked["rounds"] + 1):
    start = time.perf_counter()
    try:
        result = codex_apply_patch.apply_patch_in_memory(asked["patch"], {"f.rs": asked["text"]})
    except Exception:
        result = None
    times.append(time.perf_counter() - start)
    made = result
# Its texts are in a field of the result.
made = made.files.get("f.rs") if made is not None else None
json.dump({"times": times[1:], "text": made if isinstance(made, str) else None}, sys.stdout)
