"""Sessions for asyncio: each call runs in a thread, and a cancelled task stops its call before anything is written.

The calls of one session run one after another, in the order in which they were made: `asyncio.gather` and the loops of
agents, which pass on all calls of a turn at once, have the effect of single calls.

>>> import asyncio
>>> from emendate import Workspace
>>> from emendate.aio import AsyncSession
>>> async def main() -> str:
...     session = AsyncSession(Workspace(memory={"a.txt": "one\\n"}).session())
...     return (await session.read("a.txt")).text
>>> asyncio.run(main())
'one\\n'
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from emendate._emendate import NativeHandle
from emendate.workspace import Path, Session, Tool, Workspace

P = ParamSpec("P")
R = TypeVar("R")

__all__ = ["AsyncSession"]

# For each session, the lock that keeps its calls in their order. It lives as long as a call has it or waits for it.
_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[tuple[int, str], asyncio.Lock]]
_locks = WeakKeyDictionary()


def _lock_of(session: Session) -> asyncio.Lock:
    of_loop = _locks.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    return of_loop.setdefault((id(session.workspace), session.name), asyncio.Lock())


def _in_thread(
    method: Callable[Concatenate[Session, P], R],
) -> Callable[Concatenate[AsyncSession, P], Coroutine[Any, Any, R]]:
    @functools.wraps(method)
    async def call(self: AsyncSession, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self.run(method, *args, **kwargs)

    return call


class AsyncSession:
    """A session whose methods that work on files are those of `Session`, to be awaited; the others return at once."""

    def __init__(self, session: Session) -> None:
        """Wraps a session, which can still be used."""
        self.session = session

    @property
    def name(self) -> str:
        """The name of the session."""
        return self.session.name

    @property
    def workspace(self) -> Workspace:
        """The workspace."""
        return self.session.workspace

    async def run(self, call: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs a function of the session in a thread, after those that were begun before. If this task is cancelled,
        its calls stop."""
        handle = NativeHandle()
        session = self.session._with_handle(handle)  # pyright: ignore[reportPrivateUsage]
        async with _lock_of(self.session):
            try:
                return await asyncio.to_thread(call, session, *args, **kwargs)
            except asyncio.CancelledError:
                handle.stop()
                raise

    def approved(self, seal: str, texts: Mapping[Path, str] | None = None) -> AsyncSession:
        """Returns this session with a person's approval; see `Session.approved`."""
        return AsyncSession(self.session.approved(seal, texts))

    def denied(self, seal: str) -> AsyncSession:
        """Returns this session with a person's refusal; see `Session.denied`."""
        return AsyncSession(self.session.denied(seal))

    def planning(self) -> AsyncSession:
        """Returns this session with every call planned only; nothing is written."""
        return AsyncSession(self.session.planning())

    def tools(self, profile: str = "default") -> list[Tool]:
        """The tools of a profile; see `Session.tools`. To await one, use `call` with its name and the profile: the
        `call` of a tool itself blocks."""
        return self.session.tools(profile)

    read = _in_thread(Session.read)
    edit = _in_thread(Session.edit)
    multi_edit = _in_thread(Session.multi_edit)
    write = _in_thread(Session.write)
    apply = _in_thread(Session.apply)
    undo = _in_thread(Session.undo)
    call = _in_thread(Session.call)
