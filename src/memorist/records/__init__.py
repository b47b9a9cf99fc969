"""The words of a memory: record, kind, scope, filter, origin, time."""
