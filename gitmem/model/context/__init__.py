"""The context that a model gets: pieces of memory, escaped, rendered and cut to a budget."""
