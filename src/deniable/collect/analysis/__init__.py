"""The analyst's side: what the reports of a task say."""
