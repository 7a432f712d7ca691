"""Exercise 13-1: divide each topic into blocks, as Kafka's RangeAssignor does."""
