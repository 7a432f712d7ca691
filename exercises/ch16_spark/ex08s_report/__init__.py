"""Exercise 16-8s: a report on the brokers' own recordings of events, made by Spark."""
