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
    """Rewards an edit as `emendate.bulk.reward_many` does. Never raises for what a model wrote.

    Raises `CallError` with `call.invalid` for a measure, a tier or a format that does not exist.
    """
    rule = reward_rule(measure, tier_penalty)
    try:
        made = _emendate.reward_row((before, edit, path, expected), rule, format, match, max_steps)
    except UnicodeEncodeError as error:
        # A lone half of a pair is no text of a file. Only that of an edit is the model's fault.
        return Reward(0.0 if error.object is edit else None, "content.undecodable", None)
    return Reward(*made)


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
        nothing: list[str | None] = [None] * len(completions)
        texts = _column(columns, before)
        wanted = _column(columns, expected) if compares else nothing
        names = _column(columns, path) if path else nothing
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


def _column(columns: Mapping[str, Any], name: str | None) -> Sequence[str | None]:
    if name is not None and name in columns:
        return columns[name]
    message = f"There is no column `{name}`." if name else "The measure compares with an expected text, and has none."
    raise error_of("call.invalid", message, "", f"Name one of the columns: {', '.join(columns)}.", "{}")


def _text(completion: Any) -> str:
    """The text of a completion, which is a string or a list of messages."""
    if isinstance(completion, str):
        return completion
    said = [_content(message.get("content")) for message in completion or () if message.get("role") == "assistant"]
    return said[-1] if said else ""


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
    info = extra_info or {}
    made = reward(info["before"], solution_str, ground_truth, measure=measure, path=info.get("path"), **known)
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
        data = self.data
        wanted = getattr(data, expected) if expected else None
        name = getattr(data, path) if path else None
        text = getattr(data, before)
        said = _content(trace.last_reply)
        made = await asyncio.to_thread(reward, text, said, wanted, measure=measure, path=name, **options)
        return made.value or 0.0

    emendate_reward.__name__ = f"emendate_{measure}"
    return emendate_reward


def skyrl_env(measure: _Measure = "similarity", **options: Any) -> type[Any]:
    """An environment of one turn for SkyRL-Gym, to be registered. `reward_spec.ground_truth` of a row is the expected
    text, and `extra_info` has `before` and perhaps `path`. `options` are those of `reward`."""
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

    class EditEnv(BaseTextEnv):
        """Rewards the edit that the model writes."""

        def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
            super().__init__()
            given = extras or {}
            self._expected = given["reward_spec"]["ground_truth"]
            self._info = given["extra_info"]

        def step(self, action: str) -> Any:
            """Ends the episode with the reward."""
            info = self._info
            made = reward(info["before"], action, self._expected, measure=measure, path=info.get("path"), **options)
            facts = {"code": made.code, "tier": made.tier}
            return BaseTextEnvStepOutput(observations=[], reward=made.value or 0.0, done=True, metadata=facts)

    return EditEnv
