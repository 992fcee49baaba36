"""Optimized unary encoding in bulk."""

from __future__ import annotations

from deniable.client.oue import OUE
from deniable.contract.spec import bulk_half
from deniable.local.frequency.unary import BulkUnary


@bulk_half(OUE)
class BulkOUE(BulkUnary):
    """A report supports the values whose bits are set."""
