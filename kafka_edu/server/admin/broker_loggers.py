"""Read and change the levels of the Python loggers in this broker's process, for DescribeConfigs
and AlterConfigs (Kafka: Log4jController.scala; KIP-412).
"""

import logging
from typing import Final

ROOT: Final = "root"
#: Kafka's name of a level → Python's number of the level. Python itself has no levels TRACE and
#: FATAL.
LEVELS: Final = {
    "TRACE": 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}


def logger_levels() -> dict[str, str]:
    """Return the name and the effective level of each logger, sorted by name. A logger without its
    own level has the level of its parent.
    """
    return {
        name: _level_name(_logger(name).getEffectiveLevel())
        for name in sorted({ROOT, *logging.root.manager.loggerDict})
    }


def set_logger_level(name: str, level: str) -> None:
    """Set the logger's own level. `level` is one of the names in LEVELS."""
    _logger(name).setLevel(LEVELS[level])


def unset_logger_level(name: str) -> None:
    """Remove the logger's own level. The logger then has its parent's level. The root logger is not
    allowed here.
    """
    _logger(name).setLevel(logging.NOTSET)


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)


def _level_name(level: int) -> str:
    """Return the name of the highest known level that is not above `level`."""
    return max(
        (number, name) for name, number in LEVELS.items() if number <= max(level, LEVELS["TRACE"])
    )[1]
