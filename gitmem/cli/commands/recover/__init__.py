"""Commands that bring back versions, commits and held edits."""
