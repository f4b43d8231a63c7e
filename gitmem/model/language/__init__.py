"""Words, stems, sentences and passages of a text, and the ranking of passages."""
