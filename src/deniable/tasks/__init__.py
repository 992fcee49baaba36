"""Analyses built on the mechanisms: counts, searches, maps, graphs, texts, models, series and plans."""
