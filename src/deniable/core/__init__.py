"""Columnar reports, tallies and estimates."""
