"""What runs on a person's device. Standard library only."""

from deniable.client.grr import GRR
from deniable.client.olh import OLH
from deniable.client.oue import OUE
from deniable.client.rr import RR

__all__ = ["GRR", "OLH", "OUE", "RR"]
