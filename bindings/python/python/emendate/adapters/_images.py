"""Images and documents of replies."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, cast

from emendate.workspace import Reply


def attachments(reply: Reply) -> Iterator[tuple[str, str]]:
    """The media type and the base64 text of what a reply shows beside its text."""
    for attached in cast("list[dict[str, Any]]", reply.data.get("attachments", [])):
        if attached.get("data") and attached.get("mediaType"):
            yield attached["mediaType"], attached["data"]


def images(reply: Reply) -> Iterator[tuple[str, bytes]]:
    """The media type and the bytes of what a reply shows beside its text."""
    for kind, data in attachments(reply):
        yield kind, base64.b64decode(data)
