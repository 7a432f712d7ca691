"""Spark's side: a Python data source that reads the cluster, and the jobs of the lab (spec W).
Needs PySpark, which installs when first asked for.
"""
