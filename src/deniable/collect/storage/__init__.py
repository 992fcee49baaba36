"""Where reports and tallies live: embedded segments with SQLite, or PostgreSQL."""
