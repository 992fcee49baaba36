"""The analyst's nouns: columnar reports, tallies, estimates."""
