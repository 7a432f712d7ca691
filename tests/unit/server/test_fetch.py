from random import Random

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.log.transaction_index import AbortedTxn
from kafka_edu.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.legacy import build_message_set, iter_messages
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.replication.fetch_manager import FetchManager
from kafka_edu.replication.fetch_params import FetchIsolation
from kafka_edu.replication.fetch_session_cache import FetchSessionCache
from kafka_edu.replication.log_read_result import LogReadResult, failed_read
from kafka_edu.replication.replication_quota_manager import make_replication_quotas
from kafka_edu.server.apis.fetch import FetchApi
from tests.defaults import REPLICATION_DEFAULTS

WEB_0, WEB_1 = TopicPartition("web", 0), TopicPartition("web", 1)
RECORDS = [Record(i, 1000 + i, None, b"%d" % i, ()) for i in range(3)]
BATCH = build_batch(RECORDS)


class FakeConfig:
    message_downconversion_enable = True
    compression = None
    record_version = 2


class FakePartition:
    class log:
        config = FakeConfig()


class FakeFetch:
    def __init__(self):
        self.asked = []
        self.reads = {}
        self.partition = FakePartition()

    def get(self, _):
        return self.partition

    def fetch_messages(self, params, infos, respond, session=None, on_failure=None, requester=None):
        self.asked.append((params, list(infos)))
        respond(
            [
                (tp, self.reads.get(tp, failed_read(Errors.UNKNOWN_TOPIC_OR_PARTITION)))
                for tp, _ in infos
            ]
        )


def read(records, high_watermark=3):
    return LogReadResult(
        Errors.NONE,
        records,
        len(records),
        LogOffsetMetadata(0),
        high_watermark,
        0,
        high_watermark,
        high_watermark,
        None,
    )


@pytest.fixture
def replicas(harness):
    manager = FakeFetch()
    manager.reads = {WEB_0: read(BATCH), WEB_1: read(b"", 0)}
    manager.sessions = FetchSessionCache(10, Random(1))
    manager.quotas = make_replication_quotas(REPLICATION_DEFAULTS, harness.time)
    FetchApi(
        manager,
        manager,
        FetchManager(manager.sessions),
        harness.time,
        50_000,
        manager.quotas.leader,
    ).register(harness.apis)
    return manager


def fetch(
    *partitions,
    session=(0, -1),
    forgotten=(),
    replica_id=-1,
    max_bytes=1 << 30,
    min_bytes=1,
    isolation=0,
):
    wanted = [
        FetchPartition(partition=p, fetch_offset=offset, partition_max_bytes=1000)
        for p, offset in partitions
    ]
    return FetchRequest(
        replica_id=replica_id,
        max_wait_ms=100,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic(topic="web", partitions=wanted)] if wanted else [],
        forgotten_topics_data=(
            [ForgottenTopic(topic="web", partitions=list(forgotten))] if forgotten else []
        ),
    )


def answered(response):
    return {
        p.partition: (Errors(p.error_code), bytes(part_bytes(p.record_set)))
        for t in response.responses
        for p in t.partition_responses
    }


@pytest.mark.parametrize("version", range(4, 13))
def test_records_go_out_as_they_lie(harness, replicas, version):
    response = harness.ask(fetch((0, 0), (1, 0)), version)
    assert answered(response) == {0: (Errors.NONE, BATCH), 1: (Errors.NONE, b"")}
    ((params, infos),) = replicas.asked
    assert (params.api_version, params.replica_id, params.max_wait_ms) == (version, -1, 100)
    assert [tp for tp, _ in infos] == [WEB_0, WEB_1]


@pytest.mark.parametrize(("version", "magic"), [(0, 0), (1, 0), (2, 1), (3, 1)])
def test_old_versions_get_old_messages(harness, replicas, version, magic):
    for codec in (CompressionType.NONE, CompressionType.GZIP):
        replicas.reads[WEB_0] = read(build_batch(RECORDS, compression=codec))
        _, records = answered(harness.ask(fetch((0, 0)), version))[0]
        messages = list(iter_messages(records))
        assert {m.magic for m in messages} == {magic}
        assert messages[-1].offset == 2


def test_of_plain_batches_old_versions_get_only_what_they_asked_for(harness, replicas):
    _, records = answered(harness.ask(fetch((0, 1)), 2))[0]
    assert [m.offset for m in iter_messages(records)] == [1, 2]


def test_zstd_cannot_be_told_to_old_versions(harness, replicas):
    replicas.reads[WEB_0] = read(build_batch(RECORDS, compression=CompressionType.ZSTD))
    assert answered(harness.ask(fetch((0, 0)), 3))[0][0] is Errors.UNSUPPORTED_COMPRESSION_TYPE


def test_down_conversion_can_be_forbidden(harness, replicas, monkeypatch):
    monkeypatch.setattr(FakeConfig, "message_downconversion_enable", False)
    assert answered(harness.ask(fetch((0, 0)), 3))[0][0] is Errors.UNSUPPORTED_VERSION
    assert answered(harness.ask(fetch((0, 0)), 4))[0] == (Errors.NONE, BATCH)


def test_a_topic_of_zstd_is_for_version_10_and_later(harness, replicas, monkeypatch):
    monkeypatch.setattr(FakeConfig, "compression", CompressionType.ZSTD)
    assert answered(harness.ask(fetch((0, 0)), 9))[0][0] is Errors.UNSUPPORTED_COMPRESSION_TYPE
    assert answered(harness.ask(fetch((0, 0)), 10))[0] == (Errors.NONE, BATCH)


def test_a_log_of_an_older_format_is_sent_as_it_lies(harness, replicas, monkeypatch):
    monkeypatch.setattr(FakeConfig, "record_version", 1)
    replicas.reads[WEB_0] = read(build_message_set(RECORDS, 1))
    assert answered(harness.ask(fetch((0, 0)), 3))[0][1] == build_message_set(RECORDS, 1)
    assert {m.magic for m in iter_messages(answered(harness.ask(fetch((0, 0)), 1))[0][1])} == {0}


def test_limits(harness, replicas):
    harness.ask(fetch((0, 0), min_bytes=100_000), 12)
    assert (replicas.asked[0][0].max_bytes, replicas.asked[0][0].min_bytes) == (50_000, 50_000)
    harness.ask(fetch((0, 0), max_bytes=700, min_bytes=800), 3)
    assert (replicas.asked[1][0].max_bytes, replicas.asked[1][0].min_bytes) == (700, 700)
    harness.ask(fetch((0, 0), max_bytes=-1, min_bytes=1), 12)
    assert (replicas.asked[2][0].max_bytes, replicas.asked[2][0].min_bytes) == (
        -1,
        -1,
    ), "the log refuses it, if it has something to read"


@pytest.mark.parametrize("level", [-1, 2])
def test_an_isolation_level_that_is_none_spoils_the_whole_fetch(harness, replicas, level):
    response = harness.ask(fetch((0, 0), isolation=level), 12)
    assert answered(response)[0][0] is Errors.UNKNOWN_SERVER_ERROR
    assert not replicas.asked


def test_a_sessions_life(harness, replicas):
    opened = harness.ask(fetch((0, 0), (1, 0), session=(0, 0)), 7)
    session_id = opened.session_id
    assert session_id != 0
    # Only the first partition has news, and no partition is named.
    again = harness.ask(fetch(session=(session_id, 1)), 7)
    assert (again.session_id, list(answered(again))) == (session_id, [0])
    assert [tp for tp, _ in replicas.asked[1][1]] == [WEB_0, WEB_1]
    wrong = harness.ask(fetch(session=(session_id, 9)), 7)
    assert (wrong.error_code, wrong.session_id) == (Errors.INVALID_FETCH_SESSION_EPOCH, 0)
    ended = harness.ask(fetch(session=(session_id, 2), forgotten=(0, 1)), 7)
    assert (ended.error_code, ended.session_id, answered(ended)) == (Errors.NONE, 0, {})
    gone = harness.ask(fetch(session=(session_id, 3)), 7)
    assert gone.error_code == Errors.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_of_which_nothing_has_changed_waits_for_a_change(harness, replicas):
    session_id = harness.ask(fetch((0, 0), (1, 0), session=(0, 0)), 7).session_id
    for cached in replicas.sessions.get(session_id).partitions.values():
        cached.answered = cached.version.value
    harness.ask(fetch(session=(session_id, 1)), 7)
    assert [infos for _, infos in replicas.asked[1:]] == [[]], "it is `Fetch` that lets it wait"


def test_versions_before_7_have_no_sessions(harness, replicas):
    harness.ask(fetch((0, 0)), 6)
    assert harness.ask(fetch((0, 0)), 6).session_id == 0


def test_read_committed_is_asked_for_as_such_and_told_what_was_aborted(harness, replicas):
    replicas.reads[WEB_0] = read(BATCH)._replace(
        last_stable_offset=2, aborted_transactions=(AbortedTxn(7, 1, 2, 3),)
    )
    answer = harness.ask(fetch((0, 0), isolation=1), 11).responses[0].partition_responses[0]
    assert replicas.asked[0][0].isolation is FetchIsolation.TXN_COMMITTED
    assert (
        answer.last_stable_offset,
        [(a.producer_id, a.first_offset) for a in answer.aborted_transactions],
    ) == (2, [(7, 1)])


def test_an_unknown_partition_is_an_error_of_its_own(harness, replicas):
    assert (
        answered(harness.ask(fetch((0, 0), (9, 0)), 12))[9][0] is Errors.UNKNOWN_TOPIC_OR_PARTITION
    )


def test_a_bug_is_told_for_every_partition(harness, replicas):
    replicas.fetch_messages = None
    response = harness.ask(fetch((0, 0), (1, 0)), 12)
    assert response.error_code == Errors.UNKNOWN_SERVER_ERROR
    assert {error for error, _ in answered(response).values()} == {Errors.UNKNOWN_SERVER_ERROR}
