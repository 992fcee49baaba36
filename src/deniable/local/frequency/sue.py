"""Symmetric unary encoding in bulk."""

from __future__ import annotations

from deniable.client.sue import SUE
from deniable.contract.spec import bulk_half
from deniable.local.frequency.unary import BulkUnary


@bulk_half(SUE)
class BulkSUE(BulkUnary):
    """A report supports the values whose bits are set."""
