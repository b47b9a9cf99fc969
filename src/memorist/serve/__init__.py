"""Memorist for other programs: tokens, REST, MCP and the web console, all over one open `Memory`."""
