"""Messages in batches, which of them are summarised, and the summaries of compactions."""
