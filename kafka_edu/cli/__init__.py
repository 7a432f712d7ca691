"""The command line: commands under Kafka's names, the supervisor of clusters, the demo, the
doctor.
"""
