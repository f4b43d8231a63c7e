"""The text that a model is given: pieces, escaped, rendered and cut to size."""
