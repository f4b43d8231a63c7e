"""Git repositories on disk, in paths and bytes; the only room that imports pygit2."""
