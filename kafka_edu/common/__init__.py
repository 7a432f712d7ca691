"""What every other package stands on: errors, clocks, files, wires and names. Imports nothing of
ours.
"""
