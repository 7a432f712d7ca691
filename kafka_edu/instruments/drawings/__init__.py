"""Pictures of what events tell: a cluster, a log, a state machine, znodes, causes, messages. The
chapters' figures and `kafka-edu draw` are drawn by the same functions.

Each function takes plain values and returns a `graphviz.Digraph`; `figure.rendered` lays it out.
"""
