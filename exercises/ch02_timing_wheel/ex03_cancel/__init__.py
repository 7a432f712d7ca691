"""Exercise 02-3: write Bucket.remove and Timer.cancel."""
