"""Frequency oracles in bulk, one file each."""

from deniable.local.frequency import grr, olh, oue, rr

__all__ = ["grr", "olh", "oue", "rr"]
