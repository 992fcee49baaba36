"""Pairwise masks that cancel in the sum (SecAgg+): the default engine of secure sums."""
