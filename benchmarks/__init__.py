"""Benchmarks that compare kafka-edu with other programs.

`kafka-edu bench throughput` runs the module whose constant NAME is "throughput".
"""
