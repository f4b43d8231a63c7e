"""Formats of text: frontmatter, JSON, Markdown sections, conflict markers, three-way merging."""
