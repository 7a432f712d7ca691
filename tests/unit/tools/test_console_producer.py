"""How the console producer turns options into settings, and reports addresses that cannot be
reached.
"""

import logging
from collections.abc import Iterator

import pytest

from kafka_edu.tools.console_producer import ProducerOptions, _settings
from kafka_edu.tools.java_clients import REPEATED_AFTER_S, log_like_java


def settings(*words: str) -> dict[str, object]:
    options = ProducerOptions()
    given = options.parser.parse(["--broker-list", "a:1", "--topic", "t", *words])
    return _settings(options, given, "a:1")


def test_a_record_lives_as_long_as_its_tries() -> None:
    """request.timeout.ms 1500, linger 1000, three retries with 100 ms between them.

    kafka-python's own default would be two minutes of silence.
    """
    assert settings()["delivery_timeout_ms"] == 1000 + 4 * 1500 + 3 * 100
    assert (
        settings(
            "--timeout", "0", "--message-send-max-retries", "0", "--request-timeout-ms", "700"
        )["delivery_timeout_ms"]
        == 700
    )
    assert (
        settings("--producer-property", "delivery.timeout.ms=9999")["delivery_timeout_ms"] == 9999
    )


@pytest.fixture
def loggers() -> Iterator[None]:
    """Restore kafka-python's loggers afterwards."""
    kept = {
        name: (logging.getLogger(name), list(logging.getLogger(name).handlers))
        for name in ("kafka", "kafka.net.inet", "kafka.net.manager")
    }
    yield
    for logger, handlers in kept.values():
        logger.handlers, logger.propagate = handlers, True


@pytest.mark.usefixtures("loggers")
def test_an_address_that_is_not_reached_is_told_once_in_a_while(
    capsys: pytest.CaptureFixture[str],
) -> None:
    import kafka  # noqa: F401 - it gives its logger a handler, as libraries do

    log_like_java()

    def told(name: str, level: int, text: str, at: float) -> str:
        logger = logging.getLogger(name)
        record = logger.makeRecord(name, level, "f", 1, text, (), None)
        record.created = at
        if logger.isEnabledFor(level):
            logger.handle(record)
        return capsys.readouterr().err

    lookup = "DNS lookup failed for kafka.invalid:29192"
    assert told("kafka.net.inet", logging.WARNING, lookup, 0).endswith(
        f"WARN {lookup} (kafka.net.inet)\n"
    )
    assert told("kafka.net.inet", logging.WARNING, lookup, REPEATED_AFTER_S - 1) == ""
    assert lookup in told("kafka.net.inet", logging.WARNING, lookup, REPEATED_AFTER_S)
    assert "refused" in told("kafka.net.manager", logging.ERROR, "refused", 1)
    assert told("kafka.net.manager", logging.INFO, "chatter", 2) == ""
    assert told("kafka.cluster", logging.ERROR, "Metadata refresh: failed", 3) == ""
