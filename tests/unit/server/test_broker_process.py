"""How a broker's process ends when a part of it fails."""

import asyncio
import logging

import pytest

from kafka_edu.server import broker_process
from kafka_edu.server.broker_process import BrokerProcess
from kafka_edu.server.kafka_config import Setting, make_config
from kafka_edu.server.kafka_server import KafkaServer


def test_the_last_word_of_a_broker_that_failed_is_why(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """`cluster up` shows the end of its log, and the events that come before it are many."""

    async def startup(server: KafkaServer) -> None:
        server.on_failure("the reaper", RuntimeError("it stumbled"))

    monkeypatch.setattr(KafkaServer, "startup", startup)
    for of_the_process in ("settle_garbage_collector", "raise_file_limit"):  # this one is pytest's
        monkeypatch.setattr(broker_process, of_the_process, lambda: None)
    config, _ = make_config({key: Setting(value, "the test") for key, value in {"broker.id": "1", "zookeeper.connect": "127.0.0.1:1"}.items()})
    with caplog.at_level(logging.INFO):
        assert asyncio.run(BrokerProcess(config).run()) == 1
    assert caplog.messages[-1] == "the broker has stopped, for the reaper failed: RuntimeError: it stumbled"
