"""Record conversations, hand out what is not summarised, and close it."""
