"""Sums under encryption: one upload for each party, opened by a committee of which a threshold suffices."""
