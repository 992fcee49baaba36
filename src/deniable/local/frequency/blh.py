"""Binary local hashing in bulk."""

from __future__ import annotations

from deniable.client.blh import BLH
from deniable.contract.spec import bulk_half
from deniable.local.frequency.olh import BulkOLH


@bulk_half(BLH)
class BulkBLH(BulkOLH):
    """A report supports the candidates that its seed hashes to its bit."""
