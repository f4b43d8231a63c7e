"""Which session made an edit that a hook finds."""
