"""Exercise 16-12s: mend a Spark job that loses records when its topic is made again."""
