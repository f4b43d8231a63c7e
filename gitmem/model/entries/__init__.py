"""Entries: `### Title` blocks and files with fields, read, addressed, changed and dated."""
