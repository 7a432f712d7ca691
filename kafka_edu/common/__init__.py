"""The base of all other packages: errors, clocks, files, wires and names. It imports nothing of
ours.
"""
