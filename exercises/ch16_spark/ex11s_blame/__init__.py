"""Exercise 16-11s: join requests with deployments and with a table of teams, in a Spark stream."""
