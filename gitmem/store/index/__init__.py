"""Git's index file, patched in place."""
