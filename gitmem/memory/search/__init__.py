"""Find passages of memory and messages of transcripts."""
