"""Exercise 07-3: find the offset at which a follower cuts its log to follow a new leader."""
