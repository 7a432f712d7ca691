"""Exercise 16-12s: fix a Spark job that loses records when its topic is made again."""
