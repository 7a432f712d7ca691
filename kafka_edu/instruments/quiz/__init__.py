"""A quiz for a class: teams predict what a cluster does, and the cluster shows the right
answers.
"""
