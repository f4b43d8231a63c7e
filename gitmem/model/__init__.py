"""Pure values and rules: no files, no git, no environment, no clock."""
