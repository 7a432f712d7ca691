"""The broker watches itself: its loop, its open requests, damage in its logs, its problems."""
