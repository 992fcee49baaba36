"""The kit of the three processes (collector, shuffler, aggregator): HTTP with its limits, group commit, the log, threads that tend."""
