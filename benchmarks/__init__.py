"""Benchmarks that compare kafka-edu with other programs.

`kafka-edu bench NAME` runs the module whose constant NAME is NAME.
"""
