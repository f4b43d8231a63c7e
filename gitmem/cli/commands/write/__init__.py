"""Commands that write files and commit edits."""
