"""Means of vectors under local privacy."""
