"""Which of all registered mechanisms a protocol takes as its oracle: discovered, so that a new one is tested as soon as it is there."""

from __future__ import annotations

import deniable.client  # noqa: F401  # registers the mechanisms
from deniable.contract.spec import MECHANISMS
from deniable.errors import ParameterError


def refusal(protocol, oracle, **settings):
    """Why a protocol does not take an oracle; None if it does."""
    try:
        protocol(oracle=oracle, **settings)
    except ParameterError as error:
        return error
    return None


def accepted(protocol, **settings):
    """The mechanisms that a protocol takes as its oracle."""
    return [name for name in MECHANISMS if refusal(protocol, name, **settings) is None]
