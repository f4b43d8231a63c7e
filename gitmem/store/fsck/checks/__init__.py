"""Looking for damage: plain file reads, and nothing is changed."""
