"""The parts of an installation: hooks, permissions, sections, MCP, sandbox roots."""
