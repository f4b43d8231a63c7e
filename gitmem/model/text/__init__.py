"""Formats of text: frontmatter, JSON, `.env`, conflict markers, three-way merge, display."""
