"""Exercise 07-4: find and fix a follower that cuts its log at its high watermark."""
