"""What people want to know, built on the mechanisms."""
