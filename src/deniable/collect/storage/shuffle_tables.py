"""The tables of a shuffler's store. There is no row number, no sender and no time in any of them, but for the day.

==========  =====================================================================================================
``task``    the tasks that are served, as they were published
``seen``    the ids of seals that were taken: against replays, until their task is over
``spent``   the ids of one-time tokens, for as long
``pile``    the groups that something was held of
``held``    the digests of what waits
``run``     what waits: digest, crowd and next seal of many together (``shuffle_runs``)
``closed``  periods that were let go at their end
``batch``   batches that were let go and not acknowledged yet, as the messages that they are
``clock``   the last day that was believed, in days since 1970
==========  =====================================================================================================
"""

from __future__ import annotations

from deniable.contract.journal import Schema

_TABLES = """
CREATE TABLE task (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, text BLOB NOT NULL);
CREATE TABLE seen (task INTEGER, id BLOB, PRIMARY KEY (task, id)) WITHOUT ROWID;
CREATE TABLE spent (task INTEGER, id BLOB, PRIMARY KEY (task, id)) WITHOUT ROWID;
CREATE TABLE pile (number INTEGER PRIMARY KEY, task INTEGER, period INTEGER, route BLOB, UNIQUE (task, period, route));
CREATE TABLE held (pile INTEGER, id BLOB, PRIMARY KEY (pile, id)) WITHOUT ROWID;
CREATE TABLE run (pile INTEGER, level INTEGER, first BLOB, content BLOB NOT NULL, PRIMARY KEY (pile, level, first)) WITHOUT ROWID;
CREATE TABLE closed (task INTEGER, period INTEGER, PRIMARY KEY (task, period)) WITHOUT ROWID;
CREATE TABLE batch (id BLOB PRIMARY KEY, task INTEGER NOT NULL, count INTEGER NOT NULL, message BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE clock (only INTEGER PRIMARY KEY, day INTEGER NOT NULL) WITHOUT ROWID;
"""
SCHEMA = Schema((_TABLES,))
PRAGMAS = (
    "cache_size = -65536",
    "wal_autocheckpoint = 16384",  # pages: digests are everywhere, so each group rewrites many of them
)
