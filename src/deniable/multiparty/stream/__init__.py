"""Sums of small integers, period after period, with one message of each party and no answer."""
