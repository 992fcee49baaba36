"""Every process of the system: what collects reports, keeps them, counts them once and answers analysts."""
