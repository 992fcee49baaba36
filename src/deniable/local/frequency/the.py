"""Thresholding with histogram encoding in bulk."""

from __future__ import annotations

from deniable.client.the import THE
from deniable.contract.spec import bulk_half
from deniable.local.frequency.unary import BulkUnary


@bulk_half(THE)
class BulkTHE(BulkUnary):
    """A report supports the values whose bits are set."""
