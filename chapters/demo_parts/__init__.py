"""Parts that several demos share: clients that number their records, what lies in the log after a
run, mounts for small disks.
"""
