"""Read and write the high watermarks on disk, in one file for each log dir:
replication-offset-checkpoint (Kafka: highWatermarkCheckpoints in ReplicaManager).
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import FileSystem
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.checkpoint_file import CorruptCheckpointError
from kafka_edu.log.offset_checkpoint_file import OffsetCheckpointFile
from kafka_edu.replication.partition import Partition
from kafka_edu.trace.events.replication import HwCheckpointed
from kafka_edu.trace.tracer import Tracer

HIGH_WATERMARK_FILENAME: Final = "replication-offset-checkpoint"


class HighWatermarkCheckpoints:
    """Reads and writes the checkpoint files.

    A starting broker reads them to learn up to which offset its replicas were committed. The values
    may be old and therefore too low, but they are never too high.

    Each write waits for the disk (fsync), so a worker thread does it (`run_blocking`), one write at
    a time.
    """

    def __init__(
        self,
        log_dirs: list[str],
        file_system: FileSystem,
        run_blocking: Callable[[Callable[[], None]], Awaitable[None]],
        trace: Tracer | None = None,
    ) -> None:
        self._files = {
            log_dir: OffsetCheckpointFile(f"{log_dir}/{HIGH_WATERMARK_FILENAME}", file_system)
            for log_dir in log_dirs
        }
        self._run_blocking = run_blocking
        self._trace = trace

    def read(self, log_dir: str) -> Mapping[TopicPartition, int]:
        """Return the high watermark of each partition, as last written in that log dir.

        Empty if there is no file. Raises KAFKA_STORAGE_ERROR if the file cannot be read.
        O(partitions).
        """
        try:
            return self._files[log_dir].read()
        except (OSError, CorruptCheckpointError) as error:
            raise KafkaException(Errors.KAFKA_STORAGE_ERROR, str(error)) from error

    async def write(
        self, partitions: Iterable[Partition], on_failure: Callable[[str, OSError], None]
    ) -> None:
        """Write the HW of every partition and of every future log (a copy in another log dir), one
        file for each log dir.

        If a file cannot be written, `on_failure` is called with its log dir and the error, and the
        other files are still written. Called every replica.high.watermark.checkpoint.interval.ms.
        """
        by_log_dir: dict[str, dict[TopicPartition, int]] = {}
        for partition in partitions:
            for log in (partition.log, partition.future_log):
                if log is not None:
                    by_log_dir.setdefault(log.log_dir, {})[partition.topic_partition] = (
                        log.high_watermark
                    )
        for log_dir, offsets in by_log_dir.items():
            try:
                await self._write_one(log_dir, offsets)
            except OSError as error:
                on_failure(log_dir, error)

    async def _write_one(self, log_dir: str, offsets: Mapping[TopicPartition, int]) -> None:
        file = self._files[log_dir]
        await self._run_blocking(lambda: file.write(offsets))
        if self._trace:
            self._trace(HwCheckpointed(log_dir=log_dir, partitions=len(offsets)))
