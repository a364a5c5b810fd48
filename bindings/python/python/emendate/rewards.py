# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownMemberType=false
"""Rewards of single edits, and in the form in which trainers call them.

`before` is the text, `edit` what the model wrote in any format, `expected` the text that it should become.

>>> from emendate import rewards
>>> edit = "<<<<<<< SEARCH\\nb\\n=======\\nc\\n>>>>>>> REPLACE\\n"
>>> rewards.reward("a\\nb\\n", edit, "a\\nc\\n").value
1.0
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from emendate import _emendate
from emendate.bulk import reward_rule
from emendate.errors import error_of

if TYPE_CHECKING:
    _Measure = Literal["exact", "applied", "similarity", "line_similarity", "parses"]

__all__ = ["Reward", "compute_score", "for_trl", "for_verifiers", "reward", "skyrl_env"]


@dataclass(frozen=True)
class Reward:
    """The reward of one edit."""

    value: float | None
    """From 0.0 to 1.0; 0.0 if the edit cannot be applied, and `None` if the measure does not apply: also without the
    text before, or the expected text with which it compares."""
    code: str | None
    """The code of the error, if the edit cannot be applied or a text is missing."""
    tier: str | None
    """The largest tolerance that was needed."""


def reward(
    before: str,
    edit: str,
    expected: str | None = None,
    *,
    measure: _Measure = "similarity",
    path: str | None = None,
    format: str | None = None,
    match: Literal["exact", "strict", "standard"] = "standard",
    tier_penalty: float | Mapping[str, float] = 0.0,
    max_steps: int | None = None,
) -> Reward:
    """Rewards an edit as `emendate.bulk.reward_many` does. Never raises for what a model wrote, or for a row that has
    something else in place of a text.

    Raises `CallError` with `call.invalid` for a measure, a tier or a format that does not exist.
    """
    rule = reward_rule(measure, tier_penalty)
    # A measure that does not compare may have anything there.
    wanted = expected if measure in _COMPARING else ""
    texts = before, edit, path, wanted
    has_data = _is_text(before) and _is_text(wanted) and (path is None or _is_text(path))
    try:
        if not (has_data and _is_text(edit)):
            # Mistakes of the program are found first.
            _emendate.reward_row(("", "", None, ""), rule, format, match, max_steps)
            return Reward(0.0 if has_data else None, "call.invalid", None)
        made = _emendate.reward_row(texts, rule, format, match, max_steps)
    except UnicodeEncodeError as error:
        # A lone half of a pair is no text of a file. Only that of an edit is the model's fault.
        if not any(error.object is text for text in texts):
            raise _mistake(f"Nothing has the name {error.object!a}.", "Check the options.") from None
        return Reward(0.0 if error.object is edit else None, "content.undecodable", None)
    return Reward(*made)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def for_trl(
    measure: _Measure = "similarity",
    *,
    before: str = "before",
    expected: str | None = "expected",
    path: str | None = None,
    **options: Any,
) -> Callable[..., list[float | None]]:
    """A reward function for the trainers of TRL (`reward_funcs=[for_trl()]`). `before`, `expected` and `path` are columns
    of the data set; `options` are those of `reward`.

    The reward is `None` where a row has no text before, or no expected text although the measure compares with one: the
    measure does not apply to it. A wrong measure or option raises `CallError` at once, and a column that the data set
    does not have at the first call.
    """
    # Mistakes of the program must not become zeros of every row.
    reward("", "", "", measure=measure, **options)
    compares = measure in _COMPARING

    def emendate_reward(
        prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> list[float | None]:
        count = len(_rows("completions", completions))
        nothing: list[str | None] = [None] * count
        texts = _column(columns, before, count)
        wanted = _column(columns, expected, count) if compares else nothing
        names = _column(columns, path, count) if path else nothing
        return [
            None
            if text is None or (compares and want is None)
            else reward(text, _text(completion), want, measure=measure, path=name, **options).value
            for completion, text, want, name in zip(completions, texts, wanted, names, strict=True)
        ]

    emendate_reward.__name__ = f"emendate_{measure}"
    return emendate_reward


# The measures that compare with an expected text.
_COMPARING = ("exact", "similarity", "line_similarity")


def _column(columns: Mapping[str, Any], name: str | None, count: int) -> Sequence[Any]:
    """A column, which has a value for each of that many completions."""
    if name is None or name not in columns:
        what = f"There is no column `{name}`." if name else "The measure compares with an expected text, and has none."
        raise _mistake(what, f"Name one of the columns: {', '.join(columns)}.")
    values = _rows(name, columns[name])
    if len(values) != count:
        raise _mistake(f"The column `{name}` has {len(values)} values for {count} completions.", "Pass one for each.")
    return values


def _rows(name: str, values: Any) -> Sequence[Any]:
    """The values of rows. A text is none of many."""
    kind = type(values).__name__
    if isinstance(values, (str, bytes, Mapping)) or not (hasattr(values, "__len__") and hasattr(values, "__iter__")):
        raise _mistake(f"`{name}` is a `{kind}`, and not a list of values.", "Pass a list.")
    return values


def _mistake(message: str, next: str) -> Exception:
    """The error for a mistake of the program or its data set, which must not become a zero of every row."""
    return error_of("call.invalid", message, "", next, "{}")


def _text(completion: Any) -> str:
    """The text of a completion, which is a string or a list of messages; empty if it has none."""
    if isinstance(completion, str):
        return completion
    messages = completion if isinstance(completion, (list, tuple)) else ()
    roles = [message for message in messages if isinstance(message, Mapping) and message.get("role") == "assistant"]
    return _content(roles[-1].get("content")) if roles else ""


def _content(content: Any) -> str:
    """The text of a message, whose content is a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, (list, tuple)) else ()
    texts = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, (str, Mapping))]
    return "".join(text for text in texts if isinstance(text, str))


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str | None,
    extra_info: Mapping[str, Any] | None = None,
    measure: _Measure = "similarity",
    **options: Any,
) -> dict[str, Any]:
    """A reward function for verl: `custom_reward_function.path=pkg://emendate.rewards`, `name=compute_score`.

    `ground_truth` is the expected text, and `extra_info` has `before` and perhaps `path`. `measure` and the options of
    `reward` may be in `reward_kwargs`; other arguments of verl are ignored.
    """
    known = {name: options[name] for name in ("format", "match", "tier_penalty", "max_steps") if name in options}
    info = _field_of(extra_info, "before", "extra_info"), _optional(extra_info, "path")
    made = reward(info[0], solution_str, ground_truth, measure=measure, path=info[1], **known)
    return {"score": made.value or 0.0, "code": made.code or "", "tier": made.tier or ""}


def for_verifiers(
    measure: _Measure = "similarity",
    *,
    before: str = "before",
    expected: str | None = "expected",
    path: str | None = None,
    **options: Any,
) -> Callable[[Any, Any], Coroutine[Any, Any, float]]:
    """A scoring method for a task of verifiers: `exact = vf.reward(for_verifiers("exact"))` in the body of its class.

    `before`, `expected` and `path` are fields of the task's data; the edit is the last reply of the trace.
    """

    async def emendate_reward(self: Any, trace: Any) -> float:
        data = getattr(self, "data", None)
        wanted = _field_of(data, expected, "the task's data") if expected else None
        name = _field_of(data, path, "the task's data") if path else None
        text = _field_of(data, before, "the task's data")
        said = _content(_field_of(trace, "last_reply", "the trace"))
        made = await asyncio.to_thread(reward, text, said, wanted, measure=measure, path=name, **options)
        return made.value or 0.0

    emendate_reward.__name__ = f"emendate_{measure}"
    return emendate_reward


def _field_of(source: Any, name: str, where: str) -> Any:
    """A field of a mapping or an object, which may be null.

    Raises `CallError` if it has none.
    """
    if isinstance(source, Mapping):
        if name in source:
            return source[name]
    elif hasattr(source, name):
        return getattr(source, name)
    raise _mistake(f"There is no `{name}` in {where}.", "Add it to the rows of the data set.")


def _optional(source: Any, name: str) -> Any:
    """A field that not every row has."""
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)


def skyrl_env(measure: _Measure = "similarity", **options: Any) -> type[Any]:
    """An environment of one turn for SkyRL-Gym, to be registered. `reward_spec.ground_truth` of a row is the expected
    text, and `extra_info` has `before` and perhaps `path`. `options` are those of `reward`."""
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

    class EditEnv(BaseTextEnv):
        """Rewards the edit that the model writes."""

        def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
            super().__init__()
            info = _field_of(extras, "extra_info", "a row")
            self._before, self._path = _field_of(info, "before", "extra_info"), _optional(info, "path")
            self._expected = None
            if measure in _COMPARING:
                self._expected = _field_of(_field_of(extras, "reward_spec", "a row"), "ground_truth", "reward_spec")

        def step(self, action: str) -> Any:
            """Ends the episode with the reward."""
            made = reward(self._before, action, self._expected, measure=measure, path=self._path, **options)
            facts = {"code": made.code, "tier": made.tier}
            return BaseTextEnvStepOutput(observations=[], reward=made.value or 0.0, done=True, metadata=facts)

    return EditEnv
