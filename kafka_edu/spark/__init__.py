"""The part of the project that runs with Spark: a Python data source that reads the cluster, and
the jobs of the Spark lab (spec W).

This part needs PySpark, which is installed at its first use.
"""
