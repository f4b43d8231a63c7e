"""The write protocol: capture, publish, recover."""
