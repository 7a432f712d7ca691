"""The soak: a real cluster under real clients for an hour, on a busy disk, with brokers killed and
paused.

The same mix is also searched in virtual time.
"""
