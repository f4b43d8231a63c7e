"""What a model is given: pin commits, gather, retrieve, mask, render."""
