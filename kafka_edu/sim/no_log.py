"""Keep the log lines of simulated brokers off a learner's terminal."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_log() -> Iterator[None]:
    """Keep all log lines off the terminal while the block runs."""
    logger = logging.getLogger("kafka_edu")
    handler = logging.NullHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
