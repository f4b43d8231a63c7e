"""Commits that left the branch: found, put back or kept."""
