"""smolagents: tools. `pip install "emendate[smolagents]"`."""

from __future__ import annotations

from typing import Any

import smolagents

from emendate.adapters._questions import Approve, asked_and_answered
from emendate.workspace import Session, Tool

__all__ = ["EmendTool", "tools"]

_TYPES = frozenset({"string", "boolean", "integer", "number", "array", "object"})


class EmendTool(smolagents.Tool):
    """A tool of a profile. It returns the text for the model, also of a refused call."""

    skip_forward_signature_validation = True
    output_type = "string"

    def __init__(self, session: Session, tool: Tool, profile: str, approve: Approve | None = None) -> None:
        """Offers a tool of a session."""
        self.name, self.description = tool.name, tool.description
        required = tool.input_schema.get("required", [])
        self.inputs = {
            name: _input(schema, name in required) for name, schema in tool.input_schema["properties"].items()
        }
        self._session, self._profile, self._approve = session, profile, approve
        super().__init__()

    def __call__(self, /, *values: Any, **input: Any) -> Any:
        """Calls the tool as agents do."""
        if "self" in input:
            # The library passes names on as they are, and this one would be its own.
            input.pop("sanitize_inputs_outputs", None)
            return self.forward(*values, **input)
        return super().__call__(*values, **input)

    def forward(self, /, *values: Any, **input: Any) -> str:
        """Calls the tool. Values without names are those of the first inputs, as a prompt for code shows them."""
        if len(values) > len(self.inputs):
            raise TypeError(f"{self.name} takes {len(self.inputs)} arguments, and not {len(values)}")
        named = dict(zip(self.inputs, values, strict=False))
        if twice := named.keys() & input.keys():
            raise TypeError(f"{self.name} got {min(twice)!r} twice")
        input = {**named, **input}
        given = {name: value for name, value in input.items() if value is not None}
        return asked_and_answered(self._session, self.name, given, self._profile, self._approve).text


def _input(schema: dict[str, Any], required: bool) -> dict[str, Any]:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((name for name in kind if name != "null"), None)
    row: dict[str, Any] = {"type": kind if kind in _TYPES else "any", "description": schema.get("description", "")}
    return row if required else {**row, "nullable": True}


def tools(session: Session, profile: str = "default", *, approve: Approve | None = None) -> list[smolagents.Tool]:
    """The tools of a profile. Where a rule asks for approval, `approve` is called with the question."""
    return [EmendTool(session, tool, profile, approve) for tool in session.tools(profile)]
