"""Import a folder that already holds memory, with its history."""
