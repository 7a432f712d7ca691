"""The loggers of this broker's process, and their levels, as DescribeConfigs tells and changes them
(Kafka: Log4jController.scala; KIP-412).
"""

import logging
from typing import Final

ROOT: Final = "root"
#: Kafka's name of a level → Python's. TRACE and FATAL are names that Python does not have.
LEVELS: Final = {
    "TRACE": 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}


def logger_levels() -> dict[str, str]:
    """The level that each logger goes by, its own or its parent's, in order of name."""
    return {
        name: _level_name(_logger(name).getEffectiveLevel())
        for name in sorted({ROOT, *logging.root.manager.loggerDict})
    }


def set_logger_level(name: str, level: str) -> None:
    """Door: from now on that logger goes by that level, of LEVELS."""
    _logger(name).setLevel(LEVELS[level])


def unset_logger_level(name: str) -> None:
    """Door: from now on that logger, which is not the root, goes by its parent's level."""
    _logger(name).setLevel(logging.NOTSET)


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)


def _level_name(level: int) -> str:
    """The nearest name that is not above the level."""
    return max(
        (number, name) for name, number in LEVELS.items() if number <= max(level, LEVELS["TRACE"])
    )[1]
