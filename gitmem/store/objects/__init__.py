"""Objects of git, read and written by plain file access, each checked."""
