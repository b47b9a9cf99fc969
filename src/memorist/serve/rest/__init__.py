"""The REST routes: every verb, with the same words and the same errors."""
