"""What several tests share: typed, small, and built on the real things."""
