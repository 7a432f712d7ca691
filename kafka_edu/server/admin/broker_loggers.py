"""The loggers of this broker's process and their levels, for DescribeConfigs and AlterConfigs
(Kafka: Log4jController.scala; KIP-412).
"""

import logging
from typing import Final

ROOT: Final = "root"
#: Kafka's name of a level → Python's number. Python does not have the names TRACE and FATAL.
LEVELS: Final = {
    "TRACE": 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}


def logger_levels() -> dict[str, str]:
    """Return each logger's effective level, its own or its parent's, in order of name."""
    return {
        name: _level_name(_logger(name).getEffectiveLevel())
        for name in sorted({ROOT, *logging.root.manager.loggerDict})
    }


def set_logger_level(name: str, level: str) -> None:
    """Give the logger a level of its own, one of LEVELS."""
    _logger(name).setLevel(LEVELS[level])


def unset_logger_level(name: str) -> None:
    """Take the logger's own level away. It then has its parent's level. Not for the root logger."""
    _logger(name).setLevel(logging.NOTSET)


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)


def _level_name(level: int) -> str:
    """Return the name of the nearest level that is not higher."""
    return max(
        (number, name) for name, number in LEVELS.items() if number <= max(level, LEVELS["TRACE"])
    )[1]
