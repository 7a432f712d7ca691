"""The broker's checks of itself: its event loop, its open requests, damage in its logs, and its
problems.
"""
