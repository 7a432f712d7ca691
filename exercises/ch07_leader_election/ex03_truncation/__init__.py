"""Exercise 07-3: where a follower cuts its log before it follows a new leader."""
