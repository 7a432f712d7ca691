"""Exercise 09-1: look up an offset by two binary searches and a walk over batches."""
