"""Protocols of the literature that do not keep their promise, written down faithfully and labelled. Nothing here is a default."""
