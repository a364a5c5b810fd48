"""Types of objects with Arrow capsules."""

from __future__ import annotations

from typing import Protocol


class ArrowArray(Protocol):
    """A batch: an Arrow array of rows."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...


class ArrowStream(Protocol):
    """A stream of batches."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
