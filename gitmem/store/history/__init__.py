"""What commits changed: log, moves, diffs, and the dates of lines and entries."""
