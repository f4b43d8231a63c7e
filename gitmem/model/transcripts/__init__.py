"""Messages in batches, ranges of summarised messages, and summaries of compactions."""
