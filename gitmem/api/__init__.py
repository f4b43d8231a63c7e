"""The Python API: a group with a method for each verb, and its arguments checked."""
