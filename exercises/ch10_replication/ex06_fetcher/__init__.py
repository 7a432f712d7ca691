"""Exercise 10-6: decide what a replica fetcher does with each of its partitions."""
