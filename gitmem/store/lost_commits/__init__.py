"""Commits that left the branch: found by the reflog, merged back or kept under refs/gitmem/kept."""
