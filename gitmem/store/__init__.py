"""The only room that imports pygit2: repositories, spoken to in paths and bytes."""
