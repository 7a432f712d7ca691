"""A log compared with its simplest model, a list of batches (spec S1–S3).

Appends, truncation, retention and restarts happen in any order.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes, part_size
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch, iter_headers
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.defaults import PRODUCER_ID_EXPIRATION_MS

NOW = 1_600_000_000_000
CONFIG = LogConfig.parse(
    {
        "segment.bytes": "500",
        "segment.index.bytes": "60",
        "index.interval.bytes": "90",
        "retention.bytes": "1500",
    }
)


class LogModel(RuleBasedStateMachine):
    """`batches` is what must be readable, as (base offset, record count, epoch)."""

    @initialize()
    def begin(self) -> None:
        self.disk = MemoryFileSystem()
        self.batches: list[tuple[int, int, int]] = []
        self.end = self.start = self.epoch = self.now = 0
        self.load(clean=False)

    def load(self, *, clean: bool) -> None:
        self.log: Log
        self.log, _ = load_log(
            TopicPartition("t", 0),
            "/d",
            "/d/t-0",
            self.disk,
            CONFIG,
            clean_shutdown=clean,
            log_start_offset=self.start,
            now_ms=NOW,
            max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
        )
        self.log.update_high_watermark(max(self.end, self.start))

    @rule(count=st.integers(1, 4), newer=st.booleans())
    def append(self, count: int, newer: bool) -> None:
        self.epoch += newer
        self.now += 1
        batch = build_batch([Record(i, NOW + self.now, None, b"v" * 20) for i in range(count)])
        info = self.log.append_as_leader(batch, self.epoch, NOW)
        assert info.first_offset == self.end
        self.batches.append((self.end, count, self.epoch))
        self.end += count
        self.log.update_high_watermark(self.end)

    @rule(share=st.floats(0, 1))
    def truncate(self, share: float) -> None:
        offset = self.start + int(share * (self.end - self.start))
        self.log.truncate_to(offset, NOW)
        self.batches = [b for b in self.batches if b[0] + b[1] <= offset]
        self.end = self.log.log_end_offset
        assert self.end <= max(offset, self.start)
        self.start = self.log.log_start_offset
        self.epoch = max(self.epoch, self.log.latest_epoch)

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        self.log.maybe_increment_log_start_offset(self.start + int(share * (self.end - self.start)))
        self.log.delete_old_segments(NOW)
        self.start = self.log.log_start_offset
        self.batches = [b for b in self.batches if b[0] + b[1] > self.start]

    @rule(clean=st.booleans())
    def restart(self, clean: bool) -> None:
        if clean:
            self.log.close()
        self.load(clean=clean)

    @invariant()
    def everything_is_found(self) -> None:
        log = self.log
        assert (log.log_start_offset, log.log_end_offset) == (self.start, self.end)
        offset = self.start
        for base, count, epoch in self.batches:
            if base + count <= self.start:
                continue
            data = part_bytes(log.read(offset, 10_000).records)
            header = next(iter_headers(data))[1]
            assert (header.base_offset, header.records_count, header.partition_leader_epoch) == (
                base,
                count,
                epoch,
            )
            offset = base + count
        assert offset == self.end
        assert part_size(log.read(self.end, 100).records) == 0
        bases = [segment.base_offset for segment in log.segments]
        assert bases == sorted(set(bases))
        starts = [entry.start_offset for entry in log.leader_epoch_cache.entries]
        assert starts == sorted(set(starts))


LogModel.TestCase.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
TestLogModel = LogModel.TestCase
