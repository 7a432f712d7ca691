"""The exercises of the course, behind the command `kafka-edu lab`.

`manifest.toml` lists the exercises, and each exercise has a folder of its own. The package `runner`
copies starters, checks files and gives hints.
"""
