"""Secure sums over HTTP: the aggregator's process, and what a party runs to take part."""
