"""The command `transcript`: recorded conversations and their summaries."""
