"""The search by seeds finds each bug that is planted in the broker, and repeats itself exactly."""

import asyncio
from collections import deque
from typing import Any

import pytest

from kafka_edu.common.transport import Part
from kafka_edu.log.producer_state_manager import ProducerStateManager
from kafka_edu.log.sequence_check import SequenceCheck
from kafka_edu.network.channel import KafkaChannel
from kafka_edu.network.processor import Processor
from kafka_edu.network.request import Request
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.purgatory.expired_operation_reaper import ExpiredOperationReaper
from kafka_edu.replication.append import Append
from kafka_edu.sim.seed_search import play

pytestmark = pytest.mark.faults

FAULTS_MS = 12_000
"""A short story. The whole search is `./kafka-edu soak seeds`."""


def test_one_seed_gives_one_run() -> None:
    assert play(3, 1_000) == play(3, 1_000)


def failures(seed: int = 1) -> str:
    return "\n".join(play(seed, FAULTS_MS).failures)


def test_a_response_that_is_dropped_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    responses = 0
    enqueue = Processor.enqueue_response

    def drops_some(self: Processor, request: Request, parts: list[Part] | None) -> bool:
        nonlocal responses
        responses += 1
        return False if responses % 300 == 0 else enqueue(self, request, parts)

    monkeypatch.setattr(Processor, "enqueue_response", drops_some)
    # The seed decides which responses are dropped. If only the response to a follower's fetch is
    # dropped, the follower reconnects and no client notices. So try several seeds.
    assert any("stuck: " in failures(seed) for seed in range(1, 6))


def test_the_rest_of_a_batch_of_responses_that_is_dropped_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds = 0
    process = Processor.process_new_responses

    def forgets(self: Processor) -> None:
        nonlocal rounds
        rounds += 1
        if rounds % 400 == 0:
            self._responses = deque(list(self._responses)[:-1])
        process(self)

    monkeypatch.setattr(Processor, "process_new_responses", forgets)
    assert "stuck: " in play_until_found("stuck: ")


def test_a_wake_up_that_is_lost_in_the_purgatory_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = 0
    check = DelayedOperationPurgatory.check_and_complete

    def loses_some(self: "DelayedOperationPurgatory[object]", key: object) -> int:  # type: ignore[type-var]
        nonlocal checks
        checks += self.name == "Produce"
        return 0 if self.name == "Produce" and checks % 50 == 0 else check(self, key)  # type: ignore[arg-type]

    monkeypatch.setattr(DelayedOperationPurgatory, "check_and_complete", loses_some)
    assert "lost wake-up: produce" in play_until_found("lost wake-up: produce")


def test_a_channel_that_is_never_unmuted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    unmuted = 0
    unmute = KafkaChannel.unmute

    def forgets_some(self: KafkaChannel, answered: int = 1) -> None:
        nonlocal unmuted
        unmuted += 1
        if unmuted % 300:
            unmute(self, answered)

    monkeypatch.setattr(KafkaChannel, "unmute", forgets_some)
    assert "stuck: " in play_until_found("stuck: ")


def test_a_reaper_that_stops_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    run = ExpiredOperationReaper._run

    async def stops(self: ExpiredOperationReaper) -> None:
        try:
            async with asyncio.timeout(8):
                await run(self)
        except TimeoutError:
            return

    monkeypatch.setattr(ExpiredOperationReaper, "_run", stops)
    assert "stuck: Fetch" in play_until_found("stuck: Fetch")


def play_until_found(expected: str, first: int = 1) -> str:
    """Play at most twelve seeds, from `first` on, until a failure contains `expected`. Return the
    failure.

    One seed is a short run. It may lack the faults that trigger the bug. `first` skips such seeds
    to save time.
    """
    for seed in range(first, first + 12):
        found = failures(seed)
        if expected in found:
            return found
    return ""


def test_answers_that_leave_out_of_order_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Processor._send

    def overtakes(
        self: Processor, channel: KafkaChannel, request: Request, parts: list[Part] | None
    ) -> None:
        waiting = channel.in_progress
        if len(waiting) > 1 and request.connection_id not in self._sending:
            waiting.remove(request)
            waiting.appendleft(request)
        send(self, channel, request, parts)

    monkeypatch.setattr(Processor, "_send", overtakes)
    assert "broke the protocol" in play_until_found("broke the protocol")


def test_a_request_that_starts_beside_another_kind_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(KafkaChannel, "_may_start", lambda self, _: not self.is_muted)
    assert "of one connection at a time" in play_until_found("of one connection at a time")


def test_a_batch_that_is_written_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProducerStateManager, "check", lambda self, header, origin: None)
    assert "were read twice" in play_until_found("were read twice")


def test_batches_that_are_written_out_of_order_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SequenceCheck, "_check_sequence", lambda self, entry, header: None)
    assert "were read behind a later one" in play_until_found(
        "were read behind a later one", first=8
    )


def test_an_acknowledgement_before_the_followers_have_the_records_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    append = Append.append_records

    def answers_early(self: Append, timeout_ms: int, acks: int, *rest: Any, **named: Any) -> None:
        append(self, timeout_ms, 1 if acks == -1 else acks, *rest, **named)

    monkeypatch.setattr(Append, "append_records", answers_early)
    assert "were not read" in play_until_found("were not read", first=7)
