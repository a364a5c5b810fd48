"""Questions to a person that calls end with, until the call is repeated with the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emendate.workspace import Reply, Session

Approve = Callable[[dict[str, Any]], Any]
"""Shows a question to a person, whose `files` have the change of each; true if they agree."""

ACTIONABLE = frozenset({"repeat the call", "read, then repeat", "correct the call", "give more context", "name fewer places"})
"""Remedies that a model can follow itself."""

# A question that nobody answered is dropped when there are that many newer ones.
_MAX_OPEN = 1000


def asked_and_answered(
    session: Session, tool: str, input: Mapping[str, Any] | str, profile: str | None, approve: Approve | None
) -> Reply:
    """Calls a tool; if a rule asks for approval, asks, and calls it again with the answer."""
    reply = session.call(tool, input, profile=profile)
    if reply.question is None or approve is None:
        return reply
    seal = reply.question["seal"]
    answered = session.approved(seal) if approve(reply.question) else session.denied(seal)
    return answered.call(tool, input, profile=profile)


class OpenQuestions:
    """Seals of questions by the call that waits for the answer."""

    def __init__(self) -> None:
        self._seals: dict[str, str] = {}

    def keep(self, call: str, question: Mapping[str, Any]) -> None:
        """Keeps the question of a call."""
        while len(self._seals) >= _MAX_OPEN:
            self._seals.pop(next(iter(self._seals)))
        self._seals[call] = question["seal"]

    def approved(self, session: Session, call: str) -> Session:
        """Returns the session with the approval of the call's question, if it has one."""
        seal = self._seals.pop(call, None)
        return session if seal is None else session.approved(seal)

    def needed(
        self, session: Session, call: str, tool: str, input: Mapping[str, Any] | str, profile: str | None
    ) -> bool:
        """True if the call would end with a question, which is kept. Nothing is written."""
        planned = session.planning().call(tool, input, profile=profile)
        if not planned.ok or not _asks(planned.data):
            return False
        # A rule asks before this call is written, so it only returns the question.
        question = session.call(tool, input, profile=profile).question
        if question is not None:
            self.keep(call, question)
        return question is not None


def _asks(data: Mapping[str, Any]) -> bool:
    return "asks" in data or any("asks" in file for file in data.get("files", []) if isinstance(file, dict))
