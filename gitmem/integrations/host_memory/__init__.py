"""The memory that a host writes by itself: where it is, and how it comes under version control.

Everything here goes by the table of hosts; no host is named.
"""
