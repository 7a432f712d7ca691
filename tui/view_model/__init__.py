"""Pure reducers: events go in, the content of a screen comes out.

No module here uses Textual, a socket or a clock.
"""
