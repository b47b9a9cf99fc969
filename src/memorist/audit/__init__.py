"""What is noted of changes, and the signatures under it."""
