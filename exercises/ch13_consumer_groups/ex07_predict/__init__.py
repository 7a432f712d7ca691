"""Exercise 13-7: predict which member of a group gets which partitions."""
