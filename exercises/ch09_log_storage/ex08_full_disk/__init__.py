"""Exercise 09-8: find the topic that fills a disk, make it small, and bring the dir back."""
