"""Exercise 03-5: a produce times out; find the broker and mend it."""
