"""Entries, `### Title` blocks or files with fields: parsed, edited, placed, dated."""
