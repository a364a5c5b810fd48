"""Functions on text: results, errors, threads."""

import copy
import difflib
import inspect
import pickle
import random
import threading
import time
from collections.abc import Callable

import emendate
import pytest
from emendate import _emendate, errors

TEXT = "fn main() {\n    run(1);\n    stop();\n}\n"
REPLY = "The fix:\n\n```diff\n@@\n-    run(1);\n+    walk(1);\n```\n"


def test_edit_reports_its_tolerance() -> None:
    edited = emendate.edit(TEXT, "run(1);\nstop();", "run(2);\nstop();")
    assert edited.text == TEXT.replace("run(1)", "run(2)")
    assert (edited.tier, edited.added, edited.removed, edited.edits, edited.places) == ("indent_shift", 1, 1, 1, 1)
    assert len(edited.notes) == 1
    (span,) = edited.spans
    assert (TEXT.encode()[span.start : span.end], edited.text.encode()[span.new_start : span.new_end]) == (b"1", b"2")


def test_advice_can_be_written_in_python() -> None:
    with pytest.raises(errors.MatchError) as caught:
        emendate.edit("alpha\nbeta\n", "betta", "b")
    assert '`old="beta"`' in caught.value.next
    with pytest.raises(errors.FileError) as caught_file:
        emendate.apply_files({"a": "x\n"}, "*** Begin Patch\n*** Add File: a\n+y\n*** End Patch\n")
    assert "`overwrite=True`" in caught_file.value.next
    with pytest.raises(errors.CallError, match="more than the 3") as caught_call:
        emendate.edit("abcd", "a", "b", max_bytes=3)
    assert caught_call.value.next == "Give a smaller text, or raise `max_bytes`."


def test_advice_fits_the_function() -> None:
    block = "a\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n"
    diff = "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n"
    deleted = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n"
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: emendate.apply("x\n", diff, strip=9), "Use a smaller `strip`."),
        (lambda: emendate.apply("x\n", "a\n```\nnew\n```\n", reverse=True), "Omit `reverse`."),
        (lambda: emendate.apply("x\n", deleted), "Use `apply_files`, which returns deleted files as well."),
        (lambda: emendate.convert({"a": "x\n"}, block, "foo"), f"Use one of: {', '.join(emendate.print_formats())}."),
        (lambda: emendate.diff("a\0", "b"), "Use a program that understands this file type."),
        (lambda: emendate.edit("abc", "", "b"), "Give the text to replace as `old`."),
    ]
    for call, next in cases:
        with pytest.raises(errors.EmendError) as caught:
            call()
        assert caught.value.next == next
        assert "already exists" not in str(caught.value)


def test_advice_on_limits_names_them() -> None:
    with pytest.raises(errors.CallError) as caught:
        emendate.apply("x\n" * 1000, "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n", max_steps=1)
    assert caught.value.code == "call.too_much_work" and "raise `max_steps`" in caught.value.next
    assert "written" not in str(caught.value)


@pytest.mark.parametrize("path", ["my file.c", "read me.txt", "my dir/a.py", "a.py", "notes"])
def test_a_printed_file_is_applied_to_its_path(path: str) -> None:
    before, after = "b\n@@\nc\n", "x\nc\n"
    patch = emendate.diff(before, after).to_patch(path, "whole_file")
    assert emendate.apply(before, patch, path=path).text == after
    assert emendate.apply(before, patch, path=path, format="whole_file").text == after
    assert emendate.apply_files({path: before}, patch, path=path).after({path: before}) == {path: after}


def test_a_line_that_may_be_a_name_asks_for_the_path() -> None:
    with pytest.raises(errors.EditError) as caught:
        emendate.apply("b\n@@\nc\n", "my file.c\n```\nx\nc\n```\n")
    assert "the call names no file" in caught.value.message and "give it as `path`" in caught.value.next


def test_an_exception_can_be_made_from_its_text() -> None:
    made = errors.CallError("what another library says")
    assert (str(made), made.code, made.retryable) == ("what another library says", "", False)


def test_every_advised_parameter_exists() -> None:
    rows = _emendate.function_parameters()
    assert ("edit", "old") in rows and ("convert", "strip") in rows
    for function, parameter in rows:
        assert parameter in inspect.signature(getattr(emendate, function)).parameters, (function, parameter)


def test_apply_reads_what_a_model_wrote() -> None:
    applied = emendate.apply(TEXT, REPLY, path="main.rs")
    assert (applied.format, applied.text) == ("unified_diff", TEXT.replace("run", "walk"))
    back = emendate.apply(applied.text, REPLY, path="main.rs", reverse=True)
    assert back.text == TEXT


def test_files_change_together_or_not_at_all() -> None:
    files = {"main.rs": TEXT, "b.rs": "b\n"}
    patch = (
        "*** Begin Patch\n*** Update File: main.rs\n*** Move to: app.rs\n@@\n-    stop();\n"
        "*** Delete File: b.rs\n*** Add File: c.rs\n+c\n*** End Patch\n"
    )
    applied = emendate.apply_files(files, patch)
    kinds = {path: (file.kind, file.from_path) for path, file in applied.files.items()}
    assert kinds == {"app.rs": ("renamed", "main.rs"), "b.rs": ("deleted", None), "c.rs": ("created", None)}
    assert applied.after(files) == {"app.rs": TEXT.replace("    stop();\n", ""), "c.rs": "c\n"}
    assert files == {"main.rs": TEXT, "b.rs": "b\n"}
    with pytest.raises(errors.MatchError):
        emendate.apply_files(files, patch.replace("    stop", "    halt"))


# Anchors are JSON for a tool, and name lines that only a session knows.
@pytest.mark.parametrize("name", [name for name in emendate.print_formats() if name != "anchors"])
def test_a_difference_prints_as_a_patch_that_leads_to_the_same_text(name: str) -> None:
    after = TEXT.replace("run(1)", "run(2)")
    difference = emendate.diff(TEXT, after)
    assert difference and (difference.added, difference.removed) == (1, 1)
    patch = difference.to_patch("main.rs", name)
    assert emendate.apply_files({"main.rs": TEXT}, patch).after({"main.rs": TEXT}) == {"main.rs": after}
    converted = emendate.convert({"main.rs": TEXT}, patch, "unified_diff")
    assert converted.format == "unified_diff" and "+    run(2);" in converted.text


def test_equal_texts_have_no_difference() -> None:
    same = emendate.diff(TEXT, TEXT)
    assert not same and same.unified("x") == "" and same.spans == []
    with pytest.raises(errors.EditError) as caught:
        same.to_patch("x", "unified_diff")
    assert caught.value.code == "edit.no_change"


def test_errors_have_classes_fields_and_survive_pickling() -> None:
    with pytest.raises(errors.MatchError) as caught:
        emendate.edit("a\nb\n", "walk(1)", "run(1)")
    error = caught.value
    assert isinstance(error, emendate.EmendError)
    assert (error.code, error.retryable, error.remedy) == ("match.not_found", False, "correct the call")
    assert error.message and error.next and error.message in str(error) and error.next in str(error)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is errors.MatchError
        assert (again.code, again.message, again.evidence, again.next, again.data) == (
            error.code,
            error.message,
            error.evidence,
            error.next,
            error.data,
        )


def test_mistakes_of_a_program_are_clear() -> None:
    with pytest.raises(errors.CallError, match="not a tolerance"):
        emendate.edit("a", "a", "b", match="loose")  # type: ignore[arg-type]
    with pytest.raises(errors.CallError, match="text format"):
        emendate.apply("a", "b", format="nonsense")
    with pytest.raises(TypeError):
        emendate.edit(b"a", "a", "b")  # type: ignore[arg-type]
    with pytest.raises(UnicodeEncodeError):
        emendate.edit("\ud800", "a", "b")
    with pytest.raises(errors.CallError) as caught:
        emendate.edit("a" * 100, "a", "b", max_bytes=10)
    assert caught.value.code == "call.too_large"
    with pytest.raises(errors.ContentError):
        emendate.diff("a\0", "b")


ALPHABETS = ["ab", "abc \n", "0123456789abcdef\n", "aé漢😀\n", "".join(map(chr, range(32, 127))) + "\n"]


def mutated(text: str, random: random.Random, alphabet: str) -> str:
    for _ in range(random.randrange(6)):
        at, to = sorted((random.randrange(len(text) + 1), random.randrange(len(text) + 1)))
        put = "".join(random.choices(alphabet, k=random.randrange(20)))
        text = random.choice((text[:at] + put + text[at:], text[:at] + text[to:], text[at:to] + text[:at] + text[to:]))
    return text


@pytest.mark.parametrize("seed", range(400))
def test_similarity_is_the_ratio_of_difflib(seed: int) -> None:
    rng = random.Random(seed)
    alphabet = rng.choice(ALPHABETS)
    a = "".join(rng.choices(alphabet, k=rng.randrange(500)))
    b = mutated(a, rng, alphabet) if rng.random() < 0.7 else "".join(rng.choices(alphabet, k=rng.randrange(500)))
    assert emendate.similarity(a, b) == difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()
    lines = [[line + "\n" for line in text.split("\n")[:-1]] + [text.split("\n")[-1]] for text in (a, b)]
    lines = [list(filter(None, text)) for text in lines]
    expected = difflib.SequenceMatcher(None, lines[0], lines[1], autojunk=False).ratio()
    assert emendate.similarity(a, b, by="lines") == expected


def test_other_threads_run_during_a_call() -> None:
    a = "".join(random.Random(1).choices("abcd\n", k=300_000))
    b = "".join(random.Random(2).choices("abcd\n", k=300_000))
    done = threading.Event()
    ticks: list[float] = []

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.perf_counter()
    emendate.similarity(a, b)
    ended = time.perf_counter()
    done.set()
    thread.join()
    # A call that kept the lock would stop the other thread until its end.
    assert sum(started < at < ended for at in ticks) >= 3
