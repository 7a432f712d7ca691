"""Spark's side: a Python data source that reads the cluster, and the jobs of the lab (spec W).

It needs PySpark, which is installed the first time it is needed.
"""
