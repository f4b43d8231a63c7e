"""Record conversations, hand out messages that are not summarised, and close them."""
