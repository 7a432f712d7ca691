"""A learner's code inside a broker: the table of seams, the process for the code, an adapter for
each seam, and the events.
"""
