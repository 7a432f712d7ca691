"""A learner's code inside a broker: the table of seams, the process that runs the code, one adapter
for each seam, and the events.
"""
