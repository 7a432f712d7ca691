"""Exercise 01-4: predict the sizes of batches and frames."""
