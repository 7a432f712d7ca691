"""Replication: one leader, followers that fetch from the leader, and the in-sync replicas, which
decide what is committed (spec R; book 001).
"""
