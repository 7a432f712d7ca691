"""Pure reducers: events in, what a screen shows out. Nothing here knows Textual, a socket or a
clock.
"""
