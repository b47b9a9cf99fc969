"""What runs when a coding agent calls: at the start of a session, with each prompt, before it forgets, at the end."""
