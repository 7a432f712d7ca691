"""Exercise 16-9s: a stream that remembers for ever, to be mended."""
