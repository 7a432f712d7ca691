"""Exercise 09-8: find the topic that fills a disk, let it become small, and bring the dir back."""
