"""Build the context for a model: pin, gather, date, mask, fit, retrieve, render."""
