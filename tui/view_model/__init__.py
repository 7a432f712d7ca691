"""Pure reducers: events go in, the content of a screen comes out.

Nothing in this package knows Textual, a socket or a clock.
"""
