"""The soak: a real cluster under real clients for an hour, on a busy disk, while brokers are killed
and paused; and the same search in virtual time.
"""
