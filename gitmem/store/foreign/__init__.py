"""Reads repositories that gitmem does not own, and grafts their commits onto a branch."""
