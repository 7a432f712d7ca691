"""Exercise 09-5: decide which records the cleaner keeps."""
