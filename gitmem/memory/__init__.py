"""One module per verb: each takes a group and a clock, returns a frozen result, never prints."""
