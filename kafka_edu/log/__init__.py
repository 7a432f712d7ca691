"""The log: segments, indexes, checkpoints, and the manager of all logs of a broker (seed 004; spec
S1–S3, S5).
"""
