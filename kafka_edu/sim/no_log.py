"""Simulated brokers on a learner's terminal."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_log() -> Iterator[None]:
    """Keep what simulated brokers would write into their logs off the terminal."""
    logger = logging.getLogger("kafka_edu")
    handler = logging.NullHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
