"""The base of all other packages: errors, clocks, files, connections and names.

It imports no other package of kafka-edu.
"""
