"""Exercise 09-5: which records the cleaner keeps."""
