"""Replication: one leader, followers that fetch from it, and the in-sync replicas that decide what
is committed (spec R; book 001).
"""
