"""Loaded by schemathesis itself: how bodies are sent that are neither JSON nor a form."""

from __future__ import annotations

from typing import Any

import schemathesis

from deniable.collect.web.routes import TOML
from deniable.contract.batch import MEDIA_TYPE as BATCH
from deniable.contract.envelope import MEDIA_TYPE


@schemathesis.serializer(TOML, MEDIA_TYPE, BATCH)
def as_it_is(_: schemathesis.SerializationContext, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
