"""Bulk functions: each row is as the function on one text, in every layout and with any number of threads."""

import asyncio
import random
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import emendate
import pyarrow as pa
import pytest
from emendate import bulk, errors, rewards

BEFORE = ["a = 1\nb = 2\nc = 3\n", "def f():\n    return 1\n", "é漢😀\nx\n", "", "x\r\ny\r\n", "same\nsame\n", "a\0b\n"]


def block(old: str, new: str) -> str:
    return f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


EDITS = [
    block("b = 2", "b = 20"),
    block("return 1", "return 2"),
    block("x", "y"),
    block("same", "other"),
    "@@\n-b = 2\n+b = 3\n",
    "*** Begin Patch\n*** Update File: a\n@@\n-x\n+z\n*** End Patch\n",
    "no edit at all",
    "",
    "<<<<<<< SEARCH\n" * 500,
    "\\" * 2000 + '{"a":' * 500,
]


def rows(count: int, seed: int = 1) -> list[dict[str, str | None]]:
    rng = random.Random(seed)
    return [
        {"before": rng.choice([*BEFORE, None]), "edit": rng.choice([*EDITS, None]), "path": rng.choice(["a.py", None])}
        for _ in range(count)
    ]


def scalar(row: dict[str, str | None]) -> dict[str, Any]:
    before, edit = row["before"], row["edit"]
    if before is None or edit is None:
        return {"ok": False, "code": "call.invalid", "after": None, "format": None, "tier": None}
    try:
        applied = emendate.apply(before, edit, path=row["path"])
    except emendate.EmendError as error:
        return {"ok": False, "code": error.code, "after": None, "format": None, "tier": None}
    after = None if applied.text == before else applied.text
    return {"ok": True, "code": None, "after": after, "format": applied.format, "tier": applied.tier}


NAMES = ["ok", "code", "after", "format", "tier"]
LAYOUTS = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("threads", [1, 3])
def test_every_row_is_as_the_function_on_one_text(layout: Any, threads: int) -> None:
    given = rows(300)
    table = pa.table({name: pa.array([row[name] for row in given], pa.string()) for name in ("before", "edit", "path")})
    columns = [
        column.combine_chunks().dictionary_encode() if pa.types.is_dictionary(layout) else column.cast(layout)
        for column in table.columns
    ]
    batch = pa.table(columns, names=table.column_names).to_batches()[0]
    made = pa.record_batch(bulk.apply_many(batch, path="path", columns=NAMES, threads=threads))
    assert made.to_pylist() == [scalar(row) for row in given]
    assert sum(row["ok"] for row in made.to_pylist()) > 15


def test_streams_give_streams_of_the_same_rows() -> None:
    given = rows(200)
    table = pa.Table.from_pylist(given)
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=70))
    made = pa.table(bulk.apply_many(reader, path="path", columns=NAMES))
    assert made.to_pylist() == [scalar(row) for row in given]


def test_frames_of_polars_give_the_same_rows() -> None:
    # There is none for free-threaded interpreters.
    polars = pytest.importorskip("polars")
    given = rows(200)
    frame = polars.DataFrame(given)
    made = polars.DataFrame(bulk.apply_many(frame, path="path", columns=NAMES))
    assert made.to_dicts() == [scalar(row) for row in given]


def test_all_columns() -> None:
    batch = pa.RecordBatch.from_pylist([{"before": "a\nb\n", "edit": block("b", "c")}, {"before": "a\n", "edit": "?"}])
    names = [*NAMES, "edits", "spans", "added", "removed", "notes", "message", "next", "diff"]
    good, bad = pa.record_batch(bulk.apply_many(batch, columns=names)).to_pylist()
    assert good["spans"] == [{"start": 2, "end": 3, "new_start": 2, "new_end": 3}]
    assert (good["edits"], good["added"], good["removed"], good["notes"]) == (1, 1, 1, [])
    assert "-b\n+c\n" in good["diff"] and good["message"] is None
    assert bad["code"] == "edit.unparsable" and bad["message"] and bad["next"] and bad["spans"] is None


def test_an_empty_path_is_none() -> None:
    row = {"before": "a\nb\n", "edit": block("b", "c"), "after": "a\nc\n"}
    batch = pa.RecordBatch.from_pylist([{**row, "path": path} for path in ("", None)])
    calls: list[Any] = [
        lambda: bulk.apply_many(batch, path="path", columns=["ok", "after", "diff"]),
        lambda: bulk.diff_many(batch, path="path"),
        lambda: bulk.convert_many(batch, "unified_diff", path="path"),
    ]
    for call in calls:
        empty, missing = pa.record_batch(call()).to_pylist()
        assert empty["ok"] and empty == missing


def test_differences_and_conversions() -> None:
    batch = pa.RecordBatch.from_pylist([{"before": "a\n", "after": "b\n"}, {"before": "a\n", "after": "a\n"}])
    changed, same = pa.record_batch(bulk.diff_many(batch)).to_pylist()
    assert changed["diff"] == emendate.diff("a\n", "b\n").unified("text") and same["diff"] is None and same["ok"]
    batch = pa.RecordBatch.from_pylist([{"before": "a\nb\n", "edit": block("b", "c"), "path": "x.txt"}])
    (made,) = pa.record_batch(bulk.convert_many(batch, "unified_diff", path="path")).to_pylist()
    assert made["format"] == "search_replace"
    assert made["diff"] == emendate.convert({"x.txt": "a\nb\n"}, block("b", "c"), "unified_diff", path="x.txt").text


@pytest.mark.parametrize("reward", ["exact", "applied", "similarity", "line_similarity"])
def test_rewards(reward: Any) -> None:
    given = [{"before": "a\nb\n", "edit": block("b", new), "expected": "a\nc\n"} for new in ("c", "d", "  c")]
    given.append({"before": "a\n", "edit": "?", "expected": "a\n"})
    made = pa.record_batch(bulk.reward_many(pa.RecordBatch.from_pylist(given), reward=reward)).to_pylist()
    for row, result in zip(given[:3], made):
        text = emendate.apply(row["before"], row["edit"]).text
        by = "lines" if reward == "line_similarity" else "characters"
        ratio = emendate.similarity(text, "a\nc\n", by=by)
        assert result["reward"] == {"exact": float(text == "a\nc\n"), "applied": 1.0}.get(reward, ratio)
    assert made[3]["reward"] == 0.0 and made[3]["code"] == "edit.unparsable"


def test_bad_data_is_a_code_in_the_row_only() -> None:
    good = {"before": b"a\nb\n", "edit": block("b", "c").encode()}
    hostile = [
        {"before": b"\xff\xfe", "edit": good["edit"]},
        {"before": b"a" * 10_000, "edit": good["edit"]},
        {"before": b"a\nb\n" * 2000, "edit": b"<<<<<<< SEARCH\nb\na\n=======\nc\n>>>>>>> REPLACE\n" * 20},
        {"before": None, "edit": good["edit"]},
    ]
    batch = pa.RecordBatch.from_pylist([good, *hostile, good])
    made = pa.record_batch(bulk.apply_many(batch, max_bytes=9000, max_steps=3_000_000)).to_pylist()
    codes = [row["code"] for row in made]
    assert codes[0] is None and codes[-1] is None and made[0]["after"] == made[-1]["after"] == "a\nc\n"
    assert codes[1:3] == ["content.undecodable", "call.too_large"] and codes[3] and codes[4] == "call.invalid"


def test_unchecked_strings_of_a_producer_are_checked() -> None:
    """pyarrow lets a string column have bytes that are not UTF-8."""
    offsets, data = pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")
    broken = pa.StringArray.from_buffers(1, offsets, data)
    batch = pa.record_batch([broken, pa.array([block("b", "c")])], names=["before", "edit"])
    assert pa.record_batch(bulk.apply_many(batch)).to_pylist()[0]["code"] == "content.undecodable"


def test_mistakes_of_a_program_raise() -> None:
    batch = pa.RecordBatch.from_pylist([{"before": "a", "edit": "b", "n": 1}])
    with pytest.raises(errors.CallError, match="no column `nothing`"):
        bulk.apply_many(batch, before="nothing")
    with pytest.raises(errors.CallError, match="not text"):
        bulk.apply_many(batch, before="n")
    with pytest.raises(errors.CallError, match="no column `nothing`"):
        bulk.apply_many(batch, columns=["nothing"])
    with pytest.raises(errors.CallError, match="not a reward"):
        bulk.reward_many(batch, reward="nothing")  # type: ignore[arg-type]
    empty = pa.record_batch(bulk.apply_many(batch.slice(0, 0)))
    assert empty.num_rows == 0 and empty.schema.names[0] == "ok"


BATCH = pa.RecordBatch.from_pylist([{"before": "a\n", "edit": block("a", "b"), "after": "b\n", "expected": "b\n", "n": 1}])
MISTAKES: dict[str, tuple[Callable[..., Any], dict[str, Any], str]] = {
    "apply format": (bulk.apply_many, {"format": "nope"}, "`nope` is not a text format.*Use one of: search_replace"),
    "files format": (bulk.apply_files_many, {"format": "nope"}, "`nope` is not a text format.*Use one of"),
    "convert format": (bulk.convert_many, {"to": "unified_diff", "format": "nope"}, "`nope` is not a text format"),
    "reward format": (bulk.reward_many, {"format": "nope"}, "`nope` is not a text format"),
    "convert target": (bulk.convert_many, {"to": "nope"}, "`nope` is not a format that edits can be converted to.*unified"),
    "diff target": (bulk.diff_many, {"to": "nope"}, "`nope` is not a format that edits can be converted to"),
    "match": (bulk.apply_many, {"match": "loose"}, "`loose` is not a tolerance.*exact, strict, standard"),
    "threads": (bulk.apply_many, {"threads": -1}, "`threads` is -1, which is out of range.*number from 0"),
    "huge threads": (bulk.reward_many, {"threads": 10**6000}, "`threads` is .*, which is out of range"),
    "steps": (bulk.diff_many, {"max_steps": -5}, "`max_steps` is -5, which is out of range"),
    "bytes": (bulk.apply_files_many, {"max_bytes": 2**64}, "`max_bytes` is 18446744073709551616, which is out of range"),
    "no before": (bulk.apply_many, {"before": None}, "`before` is missing.*Name the column in `before`"),
    "no expected": (bulk.reward_many, {"expected": None}, "`expected` is missing"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_name_the_argument_and_what_is_allowed(name: str) -> None:
    function, arguments, message = MISTAKES[name]
    with pytest.raises(errors.CallError, match=f"(?s){message}") as raised:
        function(BATCH, **arguments)
    assert raised.value.code == "call.invalid"


def test_a_batch_without_an_arrow_interface_is_a_mistake() -> None:
    class Broken:
        def __arrow_c_array__(self, requested_schema: object = None) -> object:
            raise KeyboardInterrupt

    for given, message in [
        ([1, 2], "`batch` is a `list`, which has no Arrow interface.*pyarrow"),
        (None, "`batch` is a `NoneType`, which has no Arrow interface"),
        (pa.array(["a"]), "`batch` is a `pyarrow.lib.StringArray`, whose Arrow data are not a batch"),
    ]:
        with pytest.raises(errors.CallError, match=f"(?s){message}"):
            bulk.apply_many(given)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        bulk.apply_many(Broken())  # type: ignore[arg-type]


def test_an_array_that_was_taken_is_a_mistake() -> None:
    capsules = pa.record_batch({"before": ["b\n"], "edit": ["x"]}).__arrow_c_array__()

    class Taken:
        def __arrow_c_array__(self, requested_schema: object = None) -> object:
            return capsules

    assert pa.record_batch(bulk.apply_many(Taken())).num_rows == 1  # type: ignore[arg-type]
    with pytest.raises(errors.CallError, match="already taken by another reader"):
        bulk.apply_many(Taken())  # type: ignore[arg-type]


def test_comparisons_are_limited() -> None:
    batch = pa.record_batch({"before": ["a\n" * 1000], "after": ["b\n" * 1000]})
    for steps, code in [(0, "call.too_much_work"), (40_000_000, None)]:
        made = pa.record_batch(bulk.diff_many(batch, max_steps=steps, columns=["code", "message", "next"])).to_pylist()
        assert made[0]["code"] == code
        assert code is None or made[0]["next"] == "Give shorter texts." and "written" not in made[0]["message"]


def test_an_argument_of_another_type_is_a_type_error() -> None:
    for arguments in ({"before": 1}, {"threads": "2"}, {"columns": "ok"}, {"format": 3}, {"max_steps": 1.5}):
        (argument,) = arguments
        # The name is in a note of the error, which Python 3.10 does not have.
        named = argument if sys.version_info >= (3, 11) else None
        with pytest.raises(TypeError, match=named):
            bulk.apply_many(BATCH, **arguments)  # type: ignore[arg-type]


def test_single_edits_have_the_same_mistakes() -> None:
    with pytest.raises(errors.CallError, match="`nope` is not a text format"):
        rewards.reward("a\n", block("a", "b"), "b\n", format="nope")
    with pytest.raises(errors.CallError, match="`max_steps` is -1"):
        rewards.reward("a\n", block("a", "b"), "b\n", max_steps=-1)
    with pytest.raises(errors.CallError, match="`strip` is -1"):
        emendate.apply("a\n", block("a", "b"), strip=-1)


def test_a_penalty_per_tier() -> None:
    given = [{"before": "if a:\n        b\n", "edit": block(old, "        c"), "expected": "if a:\n        c\n"}
             for old in ("        b", "    b")]
    batch = pa.RecordBatch.from_pylist(given)
    made = pa.record_batch(bulk.reward_many(batch, tier_penalty={"exact": 0.1, "indent_shift": 0.5})).to_pylist()
    tiers = [row["tier"] for row in made]
    assert tiers[0] == "exact" and tiers[1] != "exact"
    assert made[0]["reward"] == 0.9 and made[1]["reward"] == {"indent_shift": 0.5}.get(tiers[1], 1.0)
    with pytest.raises(errors.CallError, match="not a tier"):
        bulk.reward_many(batch, tier_penalty={"nothing": 0.1})


def test_rewards_for_trl() -> None:
    edit, row = block("b = 2", "b = 3"), {"before": ["b = 2\n"], "expected": ["b = 3\n"]}
    exact = rewards.for_trl("exact")
    assert exact(prompts=[""], completions=[edit], **row) == [1.0]
    parts = [{"type": "image"}, {"type": "text", "text": edit[:9]}, {"type": "text", "text": edit[9:]}]
    chats = [[{"role": "assistant", "content": content}] for content in (edit, parts, None)]
    assert [exact(prompts=[""], completions=[chat], **row) for chat in [*chats, None]] == [[1.0], [1.0], [0.0], [0.0]]
    # The measure does not apply to these rows.
    nulls = {"before": ["b = 2\n", None], "expected": [None, "b = 3\n"]}
    assert exact(prompts=["", ""], completions=[edit, edit], **nulls) == [None, None]
    assert rewards.for_trl("applied")(prompts=[""], completions=[edit], before=["b = 2\n"]) == [1.0]


def test_mistakes_in_rewards_for_trl_do_not_become_zeros() -> None:
    edit, row = block("b = 2", "b = 3"), {"before": ["b = 2\n"], "expected": ["b = 3\n"]}
    for names in ({"before": "x"}, {"expected": "x"}, {"path": "x"}):
        with pytest.raises(errors.CallError, match="no column `x`"):
            rewards.for_trl("exact", **names)(prompts=[""], completions=[edit], **row)
    with pytest.raises(errors.CallError, match="has none"):
        rewards.for_trl("exact", expected=None)(prompts=[""], completions=[edit], **row)
    with pytest.raises(errors.CallError, match="is not a reward"):
        rewards.for_trl("nothing")  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError):
        rewards.for_trl("exact", colour="red")


def test_missing_data_have_no_reward() -> None:
    good: dict[str, str | None] = {"before": "b\n", "edit": block("b", "c"), "expected": "c\n"}
    given = [good, {**good, "expected": None}, {**good, "before": None}, {**good, "edit": None}]
    made = pa.record_batch(bulk.reward_many(pa.RecordBatch.from_pylist(given))).to_pylist()
    assert [row["reward"] for row in made] == [1.0, None, None, 0.0]
    assert [row["code"] for row in made] == [None] + ["call.invalid"] * 3
    applied = pa.record_batch(bulk.reward_many(pa.RecordBatch.from_pylist(given), reward="applied"))
    assert applied["reward"].to_pylist() == [1.0, 1.0, None, 0.0]
    missing = rewards.reward("b\n", block("b", "c"), None)
    assert missing.value is None and missing.code == "call.invalid"
    assert rewards.reward("\ud800", "x", "y").value is None and rewards.reward("x", "\ud800", "y").value == 0.0
    assert rewards.compute_score("", block("b", "c"), None, {"before": "b\n"})["score"] == 0.0


def test_a_row_with_a_format_that_does_not_exist_has_no_reward() -> None:
    good = {"before": "b\n", "edit": block("b", "c"), "expected": "c\n", "format": "search_replace"}
    given = [good, {**good, "format": "nope"}, {**good, "format": None}, {**good, "edit": "?"}]
    made = pa.record_batch(bulk.reward_many(pa.RecordBatch.from_pylist(given), format_column="format")).to_pylist()
    assert [row["reward"] for row in made] == [1.0, None, 1.0, 0.0]
    assert [row["code"] for row in made] == [None, "call.invalid", None, "edit.unparsable"]


@pytest.mark.parametrize("double", ["before", "edit", "path"])
def test_two_columns_of_one_name_are_a_mistake(double: str) -> None:
    names = ["before", "edit", "path", double]
    columns = [pa.array([text]) for text in ("a\n", block("a", "b"), "a.txt", "other")]
    batch = pa.record_batch(columns, names=names)
    for given in (batch, pa.Table.from_batches([batch])):
        with pytest.raises(errors.CallError, match=f"two columns `{double}`") as raised:
            bulk.apply_many(given, path="path")
        assert raised.value.code == "call.invalid"
    # One that is not read does not matter.
    twice = pa.record_batch([*columns[:3], *columns[:1] * 2], names=[*names[:3], "other", "other"])
    assert pa.record_batch(bulk.apply_many(twice))["after"].to_pylist() == ["b\n"]


ODD: list[Any] = [None, 3, b"b\n", ["b\n"], {"text": "b\n"}]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_odd_rows_have_no_reward(odd: Any) -> None:
    edit = block("b", "c")
    assert rewards.reward("b\n", odd, "c\n") == rewards.Reward(0.0, "call.invalid", None)
    for row in ((odd, edit, "c\n"), ("b\n", edit, odd), (odd, odd, odd)):
        assert rewards.reward(*row) == rewards.Reward(None, "call.invalid", None)
    # Such a measure does not compare.
    assert rewards.reward("b\n", edit, odd, measure="applied").value == 1.0
    assert odd is None or rewards.reward("b\n", edit, "c\n", path=odd).value is None
    with pytest.raises(errors.CallError, match="not a reward"):
        rewards.reward(odd, odd, odd, measure="nothing")  # pyright: ignore[reportArgumentType]
    exact = rewards.for_trl("exact", path="path")
    columns = {"before": ["b\n", "b\n", odd], "expected": ["c\n", odd, "c\n"], "path": [None] * 3}
    assert exact(prompts=[""] * 3, completions=[odd, edit, edit], **columns) == [0.0, None, None]
    for completion in ([odd], [{"role": odd}], [{"role": "assistant", "content": odd}], [[edit]]):
        assert exact([""], [completion], before=["b\n"], expected=["c\n"], path=["x"]) == [0.0]
    for name in ("before", "expected", "path"):
        if not isinstance(odd, list):
            with pytest.raises(errors.CallError):
                exact([""], [edit], **{**{"before": ["b\n"], "expected": ["c\n"], "path": ["x"]}, name: odd})
    with pytest.raises(errors.CallError, match="2 values for 1"):
        exact([""], [edit], before=["b\n"] * 2, expected=["c\n"], path=["x"])


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_odd_samples_of_trainers(odd: Any) -> None:
    edit, info = block("b", "c"), {"before": "b\n"}
    assert rewards.compute_score("", odd, "c\n", info) == {"score": 0.0, "code": "call.invalid", "tier": ""}
    assert rewards.compute_score("", edit, odd, info)["score"] == 0.0
    assert rewards.compute_score("", edit, odd, info, measure="applied")["score"] == 1.0
    assert rewards.compute_score("", edit, "c\n", {"before": odd})["score"] == 0.0
    for given in (odd, {}, {"text": "b\n"}):
        with pytest.raises(errors.CallError, match="no `before` in extra_info"):
            rewards.compute_score("", edit, "c\n", given)

    class Task:
        def __init__(self, data: Any) -> None:
            self.data = data

    def scored(task: Any, trace: Any) -> float:
        return asyncio.run(rewards.for_verifiers("exact")(task, trace))

    good = SimpleNamespace(before="b\n", expected="c\n")
    assert scored(Task(good), SimpleNamespace(last_reply=edit)) == 1.0
    assert scored(Task(vars(good)), SimpleNamespace(last_reply=edit)) == 1.0
    assert scored(Task(SimpleNamespace(before=odd, expected="c\n")), SimpleNamespace(last_reply=edit)) == 0.0
    assert scored(Task(good), SimpleNamespace(last_reply=odd)) == 0.0
    for task, trace in [
        (Task(odd), SimpleNamespace(last_reply=edit)),
        (odd, SimpleNamespace(last_reply=edit)),
        (Task(SimpleNamespace(before="b\n")), SimpleNamespace(last_reply=edit)),
        (Task(good), odd),
    ]:
        with pytest.raises(errors.CallError, match="There is no `"):
            scored(task, trace)


def test_options_of_rewards_with_half_of_a_character_are_mistakes() -> None:
    half = "\ud800"
    mistakes: list[Any] = [{"measure": half}, {"format": half}, {"match": half}, {"tier_penalty": {half: 0.1}}]
    for options in mistakes:
        with pytest.raises(errors.CallError) as raised:
            rewards.reward("b\n", "x", "c\n", **options)
        assert raised.value.code == "call.invalid"
    assert rewards.reward("b\n", "x", "c\n", path="\ud800").value is None


def test_parses_as_a_reward() -> None:
    given = [
        {"before": "def f():\n    b\n", "edit": block("    b", "    return 1"), "path": "a.py"},
        {"before": "def f():\n    b\n", "edit": block("    b", "    return ("), "path": "a.py"},
        {"before": "b\n", "edit": block("b", "c"), "path": "a.unknown"},
        {"before": "b\n", "edit": block("x", "c"), "path": "a.py"},
    ]
    batch = pa.RecordBatch.from_pylist(given)
    made = pa.record_batch(bulk.reward_many(batch, reward="parses", expected=None, path="path"))
    assert made["reward"].to_pylist() == [1.0, 0.0, None, 0.0]


PATCH = (
    "*** Begin Patch\n*** Update File: a.py\n*** Move to: c.py\n@@\n-a\n+A\n*** Delete File: b.py\n"
    "*** Add File: d.py\n+d\n*** End Patch\n"
)
FILES = {"a.py": "a\n", "b.py": "b\n"}


@pytest.mark.parametrize("layout", ["structs", "large", "map", "view", "large view"])
def test_files(layout: str) -> None:
    entry = pa.struct([("path", pa.string()), ("text", pa.large_string())])
    kinds = {"structs": pa.list_(entry), "large": pa.large_list(entry), "map": pa.map_(pa.string(), pa.string())}
    kinds |= {"view": pa.list_view(entry), "large view": pa.large_list_view(entry)}
    files: Any = list(FILES.items()) if layout == "map" else [{"path": p, "text": t} for p, t in FILES.items()]
    double = [*files, files[0]]
    columns = [pa.array([files, [], None, double, files], kinds[layout]), pa.array([PATCH] * 4 + [None], pa.string())]
    made = pa.record_batch(bulk.apply_files_many(pa.record_batch(columns, names=["files", "edit"]))).to_pylist()
    expected = emendate.apply_files(FILES, PATCH)
    assert {file["path"]: (file["kind"], file["from_path"], file["text"]) for file in made[0]["files"]} == {
        path: (file.kind, file.from_path, file.text) for path, file in expected.files.items()
    }
    assert made[0]["ok"] and made[0]["format"] == expected.format and made[0]["tier"] == "exact"
    assert [row["ok"] for row in made[1:]] == [False] * 4 and made[1]["files"] is None
    assert [row["code"] for row in made[2:]] == ["call.invalid"] * 3


def test_null_structs_are_no_files() -> None:
    paths, texts = pa.array(["a", "a"]), pa.array(["b = 2\n", "z\nb = 2\n"])
    structs = pa.StructArray.from_arrays([paths, texts], names=["path", "text"], mask=pa.array([True, False]))
    for ends in ([0, 1], [0, 2]):
        column = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), structs)
        batch = pa.record_batch([column, pa.array(["a\n" + block("b = 2", "b = 3")])], names=["files", "edit"])
        (row,) = pa.record_batch(bulk.apply_files_many(batch, columns=["code", "files", "message"])).to_pylist()
        assert (row["code"], row["files"], row["message"]) == ("call.invalid", None, "`path` is null in this row.")


def test_structs_are_files_by_the_names_of_their_fields() -> None:
    edit = pa.array(["a\n" + block("b = 2", "b = 3")])
    for fields, is_file in (({"text": "b = 2\n", "path": "a"}, True), ({"content": "b = 2\n", "name": "a"}, False)):
        batch = pa.record_batch([pa.array([[fields]]), edit], names=["files", "edit"])
        if is_file:
            assert pa.record_batch(bulk.apply_files_many(batch))["ok"].to_pylist() == [True]
            continue
        with pytest.raises(errors.CallError, match="not files") as caught:
            bulk.apply_files_many(batch)
        assert "`path` and `text`" in caught.value.next


@pytest.mark.parametrize("is_wrapped", [False, True])
@pytest.mark.parametrize("announced", [pa.string(), pa.large_string()])
def test_a_batch_with_another_schema_than_the_stream_is_an_error(announced: Any, is_wrapped: bool) -> None:
    class Wrapped:
        def __init__(self, reader: Any) -> None:
            self.reader = reader

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return self.reader.__arrow_c_stream__(requested_schema)

    schema = pa.schema([("before", announced), ("edit", pa.string())])
    good = pa.record_batch([pa.array(["b\n"], announced), pa.array([block("b", "c")])], schema=schema)
    bad = pa.record_batch([pa.array(["x"])], names=["before"])
    reader = pa.RecordBatchReader.from_batches(schema, iter([good, bad, good]))
    results = pa.RecordBatchReader.from_stream(bulk.apply_many(Wrapped(reader) if is_wrapped else reader))
    assert results.read_next_batch()["after"].to_pylist() == ["c\n"]
    with pytest.raises(ValueError, match="announced"):
        results.read_next_batch()


@pytest.mark.parametrize(
    ("function", "column"),
    [
        (bulk.diff_many, "edits"),
        (bulk.apply_many, "files"),
        (bulk.reward_many, "diff"),
        (bulk.apply_files_many, "after"),
    ],
)
def test_columns_that_a_function_does_not_make_are_refused(function: Any, column: str) -> None:
    batch = pa.record_batch({"before": ["a"], "after": ["b"], "edit": ["c"], "expected": ["d"], "files": [[]]})
    with pytest.raises(errors.CallError, match=f"no column `{column}`"):
        function(batch, columns=["ok", column])
    with pytest.raises(errors.CallError, match="no column `added`"):
        bulk.convert_many(batch, "unified_diff", columns=["added"])


def test_more_mistakes_name_what_helps() -> None:
    batch = pa.record_batch({"before": ["a\n"], "edit": [block("a", "b")]})
    with pytest.raises(errors.CallError, match="no column `expected`") as caught:
        bulk.reward_many(batch, reward="applied")
    assert "name none for `expected`" in caught.value.next
    for penalty in (-1.0, 2.0, float("nan"), {"drift": 1.5}):
        with pytest.raises(errors.CallError, match="out of range"):
            bulk.reward_many(batch, reward="applied", expected=None, tier_penalty=penalty)
    fixed = pa.record_batch([pa.array([b"b = 2\n"], pa.binary(6)), batch["edit"]], names=["before", "edit"])
    with pytest.raises(errors.CallError, match="The column `before`"):
        bulk.apply_many(fixed)


def test_a_column_without_files_is_a_mistake() -> None:
    batch = pa.RecordBatch.from_pylist([{"files": "a", "edit": "b"}])
    with pytest.raises(errors.CallError, match="not files"):
        bulk.apply_files_many(batch)
