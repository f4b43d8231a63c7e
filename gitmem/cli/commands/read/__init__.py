"""Commands that print files, history, state, search hits and the context for a model."""
