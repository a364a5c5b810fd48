"""Rewards as the installed packages of trainers call them."""

import ast
import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pytest
import skyrl_gym
import verifiers.v1 as vf
from emendate import errors, rewards

EDIT = "<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE\n"
BEFORE, EXPECTED = "a\nb\n", "a\nc\n"


def source(package: str, path: str) -> ast.Module:
    """A file of a package, which is not imported because it needs a library of tensors."""
    spec = importlib.util.find_spec(package)
    assert spec and spec.submodule_search_locations
    return ast.parse(Path(spec.submodule_search_locations[0], path).read_text())


def test_trl_calls_a_function_with_prompts_completions_and_columns() -> None:
    """The keywords are those of the call in the trainer itself."""
    tree = source("trl", "trainer/grpo_trainer.py")
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "reward_func"]
    (call,) = [call for call in calls if any(keyword.arg == "prompts" for keyword in call.keywords)]
    names = [keyword.arg for keyword in call.keywords if keyword.arg]
    given: dict[str, Any] = dict.fromkeys(names)
    completions = [EDIT, [{"role": "assistant", "content": EDIT}], "no edit", "\ud800"]
    given |= {"prompts": [""] * 4, "completions": completions, "trainer_state": None, "log_metric": None}
    columns = {"before": [BEFORE] * 4, "expected": [EXPECTED] * 4}
    assert rewards.for_trl("exact")(**given, **columns) == [1.0, 1.0, 0.0, 0.0]
    assert rewards.for_trl("parses", expected=None)(**given, **columns) == [None, None, 0.0, 0.0]
    assert rewards.for_trl("exact").__name__ == "emendate_exact"


def test_verl_calls_a_function_per_sample() -> None:
    """The keywords are those of the call in the reward manager itself."""
    tree = source("verl", "workers/reward_manager/naive.py")
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    (call,) = [call for call in calls if ast.unparse(call.func) == "self.compute_score"]
    given = {keyword.arg: None for keyword in call.keywords if keyword.arg}
    assert set(given) >= {"data_source", "solution_str", "ground_truth", "extra_info"}
    given |= {"solution_str": EDIT, "ground_truth": EXPECTED, "extra_info": {"before": BEFORE, "num_turns": 1}}
    assert rewards.compute_score(**given, unknown=1) == {"score": 1.0, "code": "", "tier": "exact"}
    given["solution_str"] = "no edit"
    assert rewards.compute_score(**given, measure="exact")["code"] == "edit.unparsable"


class EditData(vf.TaskData):
    before: str
    expected: str


class EditTask(vf.Task[EditData]):
    exact = vf.reward(rewards.for_verifiers("exact"), weight=2.0)


def test_verifiers_finds_and_calls_the_method() -> None:
    from verifiers.v1.utils.decorators import discover_decorated, invoke_all

    class Trace:
        last_reply = EDIT.strip()

    task = EditTask(EditData(before=BEFORE, expected=EXPECTED))
    found = discover_decorated(task, "reward")
    assert [method._vf_weight for method in found] == [2.0]
    assert asyncio.run(invoke_all(found, {"trace": Trace(), "task": task})) == [1.0]


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}])
def test_skyrl_refuses_rows_without_data(odd: Any) -> None:
    env = rewards.skyrl_env("exact")
    good: Any = {"reward_spec": {"ground_truth": EXPECTED}, "extra_info": {"before": BEFORE}}
    for extras in (odd, {**good, "extra_info": odd}, {**good, "reward_spec": odd}):
        with pytest.raises(errors.CallError, match="There is no `"):
            env(extras=extras)
    for extras in ({**good, "extra_info": {"before": odd}}, {**good, "reward_spec": {"ground_truth": odd}}):
        assert env(extras=extras).step(EDIT)["reward"] == 0.0
    assert env(extras=good).step(odd)["reward"] == 0.0
    assert rewards.skyrl_env("applied")(extras={"extra_info": {"before": BEFORE}}).step(EDIT)["reward"] == 1.0


@pytest.mark.parametrize(("action", "reward", "code"), [(EDIT, 1.0, None), ("no edit", 0.0, "edit.unparsable")])
def test_skyrl_steps_through_an_environment(action: str, reward: float, code: str | None) -> None:
    if "emendate" not in skyrl_gym.envs.registration.registry:
        skyrl_gym.register(id="emendate", entry_point=rewards.skyrl_env("exact"))
    extras = {"reward_spec": {"ground_truth": EXPECTED}, "extra_info": {"before": BEFORE}}
    env = skyrl_gym.make("emendate", extras=extras)
    env.init([{"role": "user", "content": "Edit."}])
    out = env.step(action)
    assert (out["reward"], out["done"], out["metadata"]["code"]) == (reward, True, code)
