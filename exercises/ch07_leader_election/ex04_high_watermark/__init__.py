"""Exercise 07-4: find and mend a follower that cuts its log at its high watermark."""
