"""Caches derived from commits: versioned, and rebuilt whenever they are in doubt."""
