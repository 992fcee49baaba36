"""Open publications: reports from which anyone can count again."""
