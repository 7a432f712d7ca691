"""The runner of the exercises: it reads the manifest, keeps the learner's progress, and checks
files.
"""
