"""Draw pictures from events: a cluster, a log, a state machine, znodes, causes, messages.

The figures of the chapters and `kafka-edu draw` use the same functions. Each function takes plain
values and returns a `graphviz.Digraph`. `figure.rendered` makes an image of that graph.
"""
