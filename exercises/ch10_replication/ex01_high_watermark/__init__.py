"""Exercise 10-1: move the high watermark, as leader and as follower."""
