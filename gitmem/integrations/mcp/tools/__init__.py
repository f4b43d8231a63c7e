"""The tools of the MCP server: their table, parameters, calls and answers."""
