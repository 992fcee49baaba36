"""Spark's Python daemon with deniable loaded before it forks: workers that tests kill start again at once."""

from pyspark.daemon import manager

import deniable.engines.spark
import deniable.local  # noqa: F401

if __name__ == "__main__":
    manager()
