"""The hot loops, compiled by numba."""
