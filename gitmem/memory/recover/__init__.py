"""Bring back: restore, undo, held versions, the trash, commits that left the branch."""
