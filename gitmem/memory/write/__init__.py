"""Write to memory: find the target, apply the edit, capture edits by others."""
