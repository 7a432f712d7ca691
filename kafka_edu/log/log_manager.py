"""Find, recover, create, truncate, clean, flush and delete all logs of a broker (Kafka:
LogManager.scala; spec S3, S5).

Each log dir contains the folders of its logs and three files. `recovery-point-offset-checkpoint`
has for each log the offset up to which the log is certainly on the disk.
`log-start-offset-checkpoint` has the log start offsets that DeleteRecords has moved.
`.kafka_cleanshutdown` exists after a clean stop, and means that no log needs recovery. The broker
removes this file at its start, so that it does not exist after a crash.

This module does I/O. It runs on the broker's loop, and `run_blocking` gives all blocking work to
worker threads: recovery, fsync, removal of files, checkpoints. A worker uses only objects that the
loop does not use at that time: logs that are not in use yet (including new logs), the files of
segments, and folders of deleted logs.

Three things happen without a schedule. A rolled segment is flushed. The files of a deleted segment
are renamed, and removed from the disk after file.delete.delay.ms. The file of leader epochs is
replaced after the first record of an epoch, and by `write_leader_epochs` after a change of roles.
A replica that moves to another log dir has two logs (KIP-113). The current log serves requests. The
future log is a copy that grows in a folder with the suffix `-future`. When both end at the same
offset, `replace_current_with_future_log` swaps them.

The broker schedules the rest:
`cleanup_logs` (log.retention.check.interval.ms), `flush_dirty_logs`
(log.flush.scheduler.interval.ms) and the two checkpoints
(log.flush.offset.checkpoint.interval.ms, log.flush.start.offset.checkpoint.interval.ms).
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Final, NamedTuple, TypeVar

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import FileSystem
from kafka_edu.common.run_blocking import RunBlocking
from kafka_edu.common.tasks import OnFailure, failure_of
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.turns import Steps, in_turns
from kafka_edu.log.delayed_removal import DelayedRemoval
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_dir_scan import LogDirScan, scan_log_dir
from kafka_edu.log.log_file_names import (
    CLEAN_SHUTDOWN_FILE,
    delete_dir_name,
    future_dir_name,
)
from kafka_edu.log.log_forecast import ForecastSampler, forecast
from kafka_edu.log.log_loader import load_log
from kafka_edu.log.log_snapshot import LogSampler, log_state
from kafka_edu.log.new_log import MadeLog, NewLog, Place, make_log, make_logs
from kafka_edu.log.offset_checkpoint_file import (
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    OffsetCheckpointFile,
)
from kafka_edu.log.replica_move import Folder, mark_move, replaced_folder, unmark_move
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.log import (
    CheckpointWritten,
    LogCreated,
    LogDeleted,
    LogDirFailed,
    ProducersExpired,
)
from kafka_edu.trace.tracer import Tracer, because

T = TypeVar("T")
_ASIDE: Final = "move-replaced-logs-aside"
LOGS_A_CALL: Final = 16
"""The number of logs that a worker creates or renames in one call. After the call the loop takes
over the new logs, at about 50 µs each, and then calls the worker again.
"""


class _GivenUp(NamedTuple):
    """A log that the broker no longer uses, and the new name for the log's folder.

    `is_replica` is False for a copy that was given up, and for a log that was replaced by its copy.
    In both cases the broker still has the replica.
    """

    log: Log
    folder: str
    is_replica: bool = False


class LogManagerSettings(NamedTuple):
    """The log dirs of a broker, and the settings for opening and keeping logs."""

    log_dirs: tuple[str, ...]
    default_config: LogConfig
    """The settings of a topic that has no settings of its own."""
    recovery_threads_per_data_dir: int
    max_producer_id_expiration_ms: int


class LogManager:
    """Owner of all logs. `log_dirs` are folders. If one fails, only the logs in it go offline."""

    def __init__(
        self,
        settings: LogManagerSettings,
        file_system: FileSystem,
        time: Time,
        run_blocking: RunBlocking,
        trace: Tracer | None = None,
        *,
        failed_log_dirs: Mapping[str, OSError] | None = None,
        on_log_dir_failure: Callable[[str, OSError, Sequence[TopicPartition]], None] | None = None,
        on_failure: OnFailure | None = None,
        random: Random | None = None,
    ) -> None:
        """Without `random` the setting segment.jitter.ms has no effect.

        `failed_log_dirs` maps each dir that has already failed to the reason; `load_logs` takes
        these dirs offline. `on_log_dir_failure` is called with a dir that fails, the reason, and
        its partitions. `on_failure` is called if a bug ends a background task, with its name and
        the exception.
        """
        self.log_dirs = log_dirs = settings.log_dirs
        self.default_config = settings.default_config
        self._file_system = file_system
        self._time = time
        self._run_blocking = run_blocking
        self._trace = trace
        self._recovery_threads = settings.recovery_threads_per_data_dir
        self._expiration_ms = settings.max_producer_id_expiration_ms
        self._failed_log_dirs = dict(failed_log_dirs or {})
        self._on_log_dir_failure = on_log_dir_failure
        self._on_failure = on_failure
        self._random = random
        self._logs: dict[TopicPartition, Log] = {}
        self._future_logs: dict[TopicPartition, Log] = {}
        """The copies of replicas that move to another dir. No request reads them, and they emit no
        events.
        """
        self._replaced: dict[Log, str] = {}
        """Log that a future log has replaced → the new name of its folder, which a worker must
        still rename.
        """
        self._cleaning_paused: set[TopicPartition] = set()
        self.cleaner_runs = False
        """Whether log.cleaner.enable is on.

        Only if it is on, a pause of cleaning also stops retention, as in Kafka.
        """
        self._preferred_log_dirs: dict[TopicPartition, str] = {}
        self._offline: dict[str, None] = {}
        self._on_truncation: list[Callable[[TopicPartition, int], None]] = []
        self._on_deletion: list[Callable[[TopicPartition], None]] = []
        self._on_cleaning_paused: list[Callable[[TopicPartition], None]] = []
        self._on_replacement: list[Callable[[str, str], None]] = []
        self._on_future_log_lost: list[Callable[[TopicPartition, OSError], None]] = []
        self._recovery_points = {
            d: OffsetCheckpointFile(f"{d}/{RECOVERY_POINT_FILE}", file_system) for d in log_dirs
        }
        self._start_offsets = {
            d: OffsetCheckpointFile(f"{d}/{LOG_START_OFFSET_FILE}", file_system) for d in log_dirs
        }
        self._noted: dict[Log, None] = {}
        self._unrenamed: dict[Log, None] = {}
        self._epochs_unwritten: dict[Log, None] = {}
        self._making: dict[asyncio.Future[list[MadeLog]], None] = {}
        """The calls under way in which workers create logs."""
        self._removal = DelayedRemoval(
            file_system,
            time,
            run_blocking,
            trace,
            is_offline=self._offline.__contains__,
            on_disk_failure=self._fail_log_dir,
        )
        self._deleted_folders = 0
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._sampler = LogSampler()
        self._forecasts = ForecastSampler()
        if trace:
            trace.on_snapshot(self._snapshot)
            trace.on_gauges(self._gauges)

    def _snapshot(self) -> Iterator[Event]:
        doomed = self._removal.segments()
        for log in self._logs.values():
            yield log_state(log)
            yield forecast(log, doomed.get(log.directory, ()))

    def _gauges(self) -> Iterator[Event]:
        now_ms = self._time.hi_res_clock_ms()
        doomed = self._removal.segments()
        for log in self._logs.values():
            sample = self._sampler.sample(log)
            if sample is not None:
                yield sample
            expected = self._forecasts.sample(log, doomed.get(log.directory, ()), now_ms)
            if expected is not None:
                yield expected

    async def load_logs(self, topic_configs: Mapping[str, LogConfig] | None = None) -> None:
        """Open every log in every dir, and recover the logs that were not closed cleanly.

        Topics that are not in `topic_configs` get the default. All dirs are loaded at the same
        time, each by num.recovery.threads.per.data.dir workers. A dir that cannot be read goes
        offline. If no dir is left, raises KAFKA_STORAGE_ERROR.
        """
        for log_dir, reason in self._failed_log_dirs.items():
            self._fail_log_dir(log_dir, reason)
        found = await asyncio.gather(*map(self._scan_dir, self.live_log_dirs))
        scans = await self._settle_duplicates([scan for scan in found if scan is not None])
        await asyncio.gather(*(self._load_dir(scan, topic_configs or {}) for scan in scans))
        self._check_a_dir_is_left()

    async def _scan_dir(self, log_dir: str) -> LogDirScan | None:
        """Return what the dir contains. If the dir cannot be read, take it offline and return
        None.
        """
        try:
            return await self._run_blocking(
                partial(
                    scan_log_dir,
                    log_dir,
                    self._file_system,
                    self._recovery_points[log_dir],
                    self._start_offsets[log_dir],
                )
            )
        except OSError as error:
            self._fail_log_dir(log_dir, error)
            return None

    async def _settle_duplicates(self, scans: list[LogDirScan]) -> list[LogDirScan]:
        """Return the scans with one folder for each replica, and one folder for each copy of a
        replica.

        If the broker is killed at the very end of a move, a replica has two folders. In that case
        the old folder is renamed, as the move would have done. Raises KAFKA_STORAGE_ERROR if it is
        not clear which of the two folders is the old one, or if a replica has two copies.
        """
        settled: dict[str, LogDirScan] = {}
        owner: dict[TopicPartition, str] = {}
        copies: dict[TopicPartition, str] = {}
        for scan in scans:
            settled[scan.log_dir] = scan
            for tp, path in scan.logs.items():
                if tp in owner:
                    there = Folder(owner[tp], settled[owner[tp]].logs[tp])
                    old = await self._settle_two_folders(tp, there, Folder(scan.log_dir, path))
                    settled[old] = await self._without(settled[old], tp)
                    if old == scan.log_dir:
                        continue
                owner[tp] = scan.log_dir
            for tp, path in scan.future_logs.items():
                if tp in copies:
                    raise KafkaException(
                        Errors.KAFKA_STORAGE_ERROR,
                        f"Duplicate log directories found: {path}, {copies[tp]}. Both are copies of"
                        f" the replica {tp}. Remove one of them.",
                    )
                copies[tp] = path
        return list(settled.values())

    async def _settle_two_folders(self, tp: TopicPartition, first: Folder, second: Folder) -> str:
        """Return the log dir of the old folder, which a move has replaced by the other folder."""
        old = await self._run_blocking(partial(replaced_folder, self._file_system, (first, second)))
        if old is None:
            raise KafkaException(
                Errors.KAFKA_STORAGE_ERROR,
                f"Duplicate log directories for {tp} are found in both {second.path} and"
                f" {first.path}. It is likely because log directory failure happened while broker"
                " was replacing current replica with future replica. Recover broker from this"
                " failure by manually deleting one of the two directories for this partition. It"
                " is recommended to delete the partition in the log directory that is known to"
                " have failed recently.",
            )
        return old.log_dir

    async def _without(self, scan: LogDirScan, tp: TopicPartition) -> LogDirScan:
        """Rename the folder of a replaced replica, and return the scan without it."""
        path, folder = scan.logs[tp], delete_dir_name(tp, self._unique_id())
        files = self._file_system
        try:
            await self._run_blocking(lambda: files.rename(path, f"{scan.log_dir}/{folder}"))
        except OSError as error:
            self._fail_log_dir(scan.log_dir, error)
        return scan._replace(
            logs={other: where for other, where in scan.logs.items() if other != tp},
            doomed=[*scan.doomed, folder],
        )

    async def _load_dir(self, scan: LogDirScan, topic_configs: Mapping[str, LogConfig]) -> None:
        """Open the logs of one dir. If a log cannot be opened because of an OSError, close all logs
        of the dir, and take the dir offline.
        """
        log_dir, files = scan.log_dir, self._file_system
        if self._trace:
            for unreadable in scan.unreadable:
                self._trace(unreadable)
        for folder in scan.doomed:
            self._removal.add_found(log_dir, f"{log_dir}/{folder}")
            self._start_removal()
        now_ms = self._time.milliseconds()
        workers = asyncio.Semaphore(self._recovery_threads)

        async def load(topic_partition: TopicPartition, path: str) -> tuple[Log, list[Event]]:
            config = topic_configs.get(topic_partition.topic, self.default_config)
            async with workers:
                return await self._run_blocking(
                    lambda: load_log(
                        topic_partition,
                        log_dir,
                        path,
                        files,
                        config,
                        log_start_offset=scan.start_offsets.get(topic_partition, 0),
                        recovery_point=scan.recovery_points.get(topic_partition, 0),
                        clean_shutdown=scan.clean,
                        now_ms=now_ms,
                        max_producer_id_expiration_ms=self._expiration_ms,
                    )
                )

        loaded: list[tuple[Log, list[Event]]] = []
        failures: list[BaseException] = []
        for result in await asyncio.gather(
            *(load(*item) for item in (*scan.logs.items(), *scan.future_logs.items())),
            return_exceptions=True,
        ):
            if isinstance(result, BaseException):
                failures.append(result)
            else:
                loaded.append(result)
        futures = set(scan.future_logs.values())
        if not failures:
            try:
                await self._run_blocking(lambda: files.remove(f"{log_dir}/{CLEAN_SHUTDOWN_FILE}"))
            except OSError as error:
                failures.append(error)
        for failure in failures:
            if not isinstance(failure, OSError):
                raise failure
        if failures:
            for log, _ in loaded:
                log.close_handlers()
            self._fail_log_dir(log_dir, _os_error(failures))
        elif log_dir not in self._offline:
            for log, events in loaded:
                if log.directory in futures:
                    self._adopt_future(log)
                else:
                    self._adopt(log, events)

    def _adopt_future(self, log: Log) -> None:
        log.watch(None, partial(self._note, log), self._fail_log_dir)
        self._future_logs[log.topic_partition] = log

    def _adopt(self, log: Log, events: Iterable[Event]) -> None:
        log.watch(self._trace, partial(self._note, log), self._fail_log_dir)
        if self._random is not None:
            log.jitter_rolls(self._random)
        self._logs[log.topic_partition] = log
        if self._trace:
            for event in events:
                self._trace(event)

    def _check_a_dir_is_left(self) -> None:
        if len(self._offline) == len(self.log_dirs):
            raise KafkaException(
                Errors.KAFKA_STORAGE_ERROR,
                "none of the log dirs can be used: " + ", ".join(self.log_dirs),
            )

    @property
    def logs(self) -> Mapping[TopicPartition, Log]:
        return self._logs

    @property
    def future_logs(self) -> Mapping[TopicPartition, Log]:
        """Return the copies of the replicas that move to another dir."""
        return self._future_logs

    def _all_logs(self) -> list[Log]:
        return [*self._logs.values(), *self._future_logs.values()]

    def _is_known(self, log: Log) -> bool:
        tp = log.topic_partition
        return self._logs.get(tp) is log or self._future_logs.get(tp) is log

    @property
    def live_log_dirs(self) -> list[str]:
        """Return the dirs that have not failed."""
        return [log_dir for log_dir in self.log_dirs if log_dir not in self._offline]

    def get_log(self, topic_partition: TopicPartition) -> Log | None:
        return self._logs.get(topic_partition)

    def get_future_log(self, topic_partition: TopicPartition) -> Log | None:
        return self._future_logs.get(topic_partition)

    def get_or_create_log(
        self,
        topic_partition: TopicPartition,
        config: LogConfig | None = None,
        *,
        is_new: bool = True,
    ) -> Log:
        """Return the log of a partition. If it does not exist, create it at once.

        This blocks; a broker uses `create_logs` instead. Raises KAFKA_STORAGE_ERROR if the log
        cannot be created.
        """
        log = self._logs.get(topic_partition)
        if log is not None:
            return log
        new = NewLog(topic_partition, config or self.default_config, is_new)
        return self._settle(self._make_log(self._place(new, self._log_counts())))

    async def create_logs(
        self, wanted: Sequence[NewLog]
    ) -> Mapping[TopicPartition, KafkaException]:
        """Create the logs that do not exist yet, in a worker. Return each partition whose log could
        not be created, with the reason.

        Each log is created in the preferred dir if there is one, otherwise in the dir with the
        fewest logs. If the caller is cancelled meanwhile, the logs that the worker has begun are
        kept.
        """
        await self._settle_replaced()
        failures: dict[TopicPartition, KafkaException] = {}
        counts = self._log_counts()
        for some in _pieces(wanted, LOGS_A_CALL):
            places: list[Place] = []
            for new in some:
                try:
                    places.append(self._place(new, counts))
                except KafkaException as failure:
                    failures[new.topic_partition] = failure
            for made in await self._made_by_worker(places):
                try:
                    self._settle(made)
                except KafkaException as failure:
                    failures[made.place.new.topic_partition] = failure
        return failures

    async def _made_by_worker(self, places: Sequence[Place]) -> list[MadeLog]:
        making = asyncio.ensure_future(
            self._run_blocking(partial(make_logs, places, self._make_log))
        )
        self._making[making] = None
        try:
            made = await asyncio.shield(making)
        except asyncio.CancelledError:
            making.add_done_callback(self._keep_made)
            raise
        del self._making[making]
        return made

    def _keep_made(self, making: asyncio.Future[list[MadeLog]]) -> None:
        """Take over the logs whose caller was cancelled, so that `shutdown` closes them."""
        self._making.pop(making, None)
        if not making.cancelled():
            for made in making.result():
                with contextlib.suppress(KafkaException):  # the failure of its dir was reported
                    self._settle(made)

    def _make_log(self, place: Place) -> MadeLog:
        """Create the files of a log. Blocks."""
        return make_log(place, self._file_system, self._time.milliseconds(), self._expiration_ms)

    def _settle(self, made: MadeLog) -> Log:
        """Take over a log that was just created. Dirs in which it could not be created go offline.

        Raises KAFKA_STORAGE_ERROR if there is no log.
        """
        tp = made.place.new.topic_partition
        for log_dir, error in made.failures:
            self._fail_log_dir(log_dir, error)
        log = made.log
        if log is None:
            tried = ", ".join(made.place.log_dirs)
            reason = f": {made.failures[-1][1]}" if made.failures else ""
            raise KafkaException(
                Errors.KAFKA_STORAGE_ERROR,
                f"No log directories available for {tp}. Tried {tried}{reason}",
            ) from (made.failures[-1][1] if made.failures else None)
        if log.log_dir in self._offline:
            log.close_handlers()
            raise KafkaException(
                Errors.KAFKA_STORAGE_ERROR,
                f"Can not create log for {tp} because log directory {log.log_dir} is offline",
            )
        self._preferred_log_dirs.pop(tp, None)
        if made.place.folder:
            self._adopt_future(log)
            return log
        created = LogCreated(topic=tp.topic, partition=tp.partition, log_dir=log.log_dir)
        self._adopt(log, [created])
        return log

    def _place(self, new: NewLog, counts: dict[str, int]) -> Place:
        """Return the log dirs in which to try to create the log. Count it in `counts`.

        `counts` maps each live dir to its number of logs. Raises KAFKA_STORAGE_ERROR if no dir is
        left. The same error is raised if a dir is offline and the replica is not new. In this case
        the offline dir may contain the replica's log, and an empty log in a different dir would
        look like a replica without records.
        """
        tp = new.topic_partition
        if self._offline and not new.is_new:
            raise KafkaException(
                Errors.KAFKA_STORAGE_ERROR,
                f"Can not create log for {tp} because log directories are offline",
            )
        self._check_a_dir_is_left()
        preferred = self._preferred_log_dirs.get(tp)
        if preferred in self._offline:
            raise KafkaException(
                Errors.KAFKA_STORAGE_ERROR,
                f"Can not create log for {tp} because log directory {preferred} is offline",
            )
        live = [log_dir for log_dir in counts if log_dir not in self._offline]
        log_dirs = (
            [preferred]
            if preferred is not None
            else sorted(live, key=lambda log_dir: counts[log_dir])
        )
        counts[log_dirs[0]] = counts.get(log_dirs[0], 0) + 1
        return Place(new, log_dirs)

    def _log_counts(self) -> dict[str, int]:
        """Return the number of logs in each live dir.

        O(1) with one dir, otherwise O(logs), as in Kafka.
        """
        counts = dict.fromkeys(self.live_log_dirs, 0)
        if len(counts) > 1:
            for log in self._all_logs():
                if log.log_dir in counts:
                    counts[log.log_dir] += 1
        return counts

    def prefer_log_dir(self, topic_partition: TopicPartition, log_dir: str) -> None:
        """Remember that a replica must be created in `log_dir` if it comes to this broker later
        (Kafka: maybeUpdatePreferredLogDir).

        The broker forgets the dir when it stops. If the replica's log or future log is already in
        `log_dir`, nothing is remembered.
        """
        logs = (self._logs.get(topic_partition), self._future_logs.get(topic_partition))
        if not any(log is not None and log.log_dir == log_dir for log in logs):
            self._preferred_log_dirs[topic_partition] = log_dir

    async def create_future_log(
        self, topic_partition: TopicPartition, log_dir: str, config: LogConfig
    ) -> Log:
        """Let a worker create an empty log in `log_dir`, which will replace the replica's current
        log (Kafka: getOrCreateLog with isFuture).

        Raises KAFKA_STORAGE_ERROR. One offline log dir is enough for this error, because the
        offline dir may contain a copy of the replica too.
        """
        await self._settle_replaced()
        if self._offline:
            raise KafkaException(
                Errors.KAFKA_STORAGE_ERROR,
                f"Can not create log for {topic_partition} because log directories"
                f" {', '.join(self._offline)} are offline",
            )
        place = Place(
            NewLog(topic_partition, config, is_new=False),
            [log_dir],
            future_dir_name(topic_partition, self._unique_id()),
        )
        (made,) = await self._made_by_worker([place])
        return self._settle(made)

    async def mark_move(self, topic_partition: TopicPartition) -> bool:
        """Let a worker write a mark into the current log's folder: the dir in which the future log
        lies.

        A move ends with two renames. If the broker is killed between these renames, the mark shows
        which of the two folders is the old one. Return False if one of the two logs is gone.
        """
        current, future = (
            self._logs.get(topic_partition),
            self._future_logs.get(topic_partition),
        )
        if current is None or future is None:
            return False
        try:
            await self._run_blocking(
                partial(mark_move, self._file_system, current.directory, future.log_dir)
            )
        except OSError as error:
            if self._logs.get(topic_partition) is current:
                self._fail_log_dir(current.log_dir, error)
            return False
        return True

    async def flush_future_log(self, topic_partition: TopicPartition) -> None:
        """Let a worker force the copy of a replica to the disk.

        If the disk fails, the copy's log dir goes offline.
        """
        future = self._future_logs.get(topic_partition)
        if future is not None:
            await self._flush(future, future.log_end_offset)

    async def delete_future_log(self, topic_partition: TopicPartition) -> None:
        """Delete the copy of a replica, because its move was given up.

        A worker renames the copy's folder, which is removed after file.delete.delay.ms. If the disk
        fails, the copy's log dir goes offline.
        """
        gone = self._give_up_future(topic_partition)
        if gone is None:
            return
        await self._move_aside_and_doom([gone])
        current = self._logs.get(topic_partition)
        if current is not None:
            try:
                await self._run_blocking(partial(unmark_move, self._file_system, current.directory))
            except OSError as error:
                if self._logs.get(topic_partition) is current:
                    self._fail_log_dir(current.log_dir, error)

    def replace_current_with_future_log(self, topic_partition: TopicPartition) -> Log:
        """Replace the current log with the future log at once, and return the future log.

        Both logs must end at the same offset. A worker then renames the folder of the old log,
        which is removed after file.delete.delay.ms.

        The future log's folder is renamed by one system call on the loop. So nobody can append to
        the old log during the swap (Kafka needs a lock for this). If the rename fails,
        KAFKA_STORAGE_ERROR is raised, the log dir of the future log goes offline, and the current
        log stays.
        """
        tp = topic_partition
        old, new = self._logs[tp], self._future_logs[tp]
        assert old.log_end_offset == new.log_end_offset, (tp, old._offsets(), new._offsets())
        before = new.directory
        new.rename_dir(f"{new.log_dir}/{tp}")
        self._removal.moved(before, new.directory)
        new.take_over(old)
        del self._future_logs[tp]
        self._logs[tp] = new
        new.watch(self._trace, partial(self._note, new), self._fail_log_dir)
        if self._random is not None:
            new.jitter_rolls(self._random)
        self._retire(old)
        self._replaced[old] = delete_dir_name(tp, self._unique_id())
        self.resume_cleaning(tp)
        self._start(_ASIDE, self._move_replaced_aside)
        for notify in self._on_replacement:
            notify(old.log_dir, new.log_dir)
        return new

    async def _move_replaced_aside(self) -> None:
        """Write the checkpoints of the dirs that have new logs, then rename the old logs' folders.

        Writing a checkpoint forces the checkpoint to the disk. On a file system with a journal, all
        earlier changes are then on the disk too. One of these changes is the rename of the new
        log's folder.
        """
        while self._replaced:
            some = [_GivenUp(log, folder) for log, folder in self._replaced.items()]
            dirs = {
                log.log_dir
                for old in self._replaced
                for log in (old, self._logs.get(old.topic_partition))
                if log is not None
            }
            await self._checkpoint_recovery_points(dirs)
            await self._checkpoint_log_starts(dirs)
            await self._move_aside_and_doom(some)
            for gone in some:
                self._replaced.pop(gone.log, None)

    async def _settle_replaced(self) -> None:
        """Wait until the folders of replaced logs have their new names. Until then, no log of the
        same partition may be created or deleted in the log dirs of these folders.
        """
        task = self._tasks.get(_ASIDE)
        if task is not None:
            await asyncio.wait([task])

    def pause_cleaning(self, topic_partition: TopicPartition) -> None:
        """Stop cleaning and retention of a log, because it is being copied to another dir (Kafka:
        abortAndPauseCleaning).

        The result of a cleaning pass that is under way is dropped.
        """
        self._cleaning_paused.add(topic_partition)
        for notify in self._on_cleaning_paused:
            notify(topic_partition)

    def resume_cleaning(self, topic_partition: TopicPartition) -> None:
        """Resume cleaning and retention."""
        self._cleaning_paused.discard(topic_partition)

    def is_cleaning_paused(self, topic_partition: TopicPartition) -> bool:
        return topic_partition in self._cleaning_paused

    def update_topic_config(self, topic: str, config: LogConfig) -> None:
        """Set the changed configuration of a topic in its logs."""
        for log in self._all_logs():
            if log.topic_partition.topic == topic:
                with contextlib.suppress(
                    KafkaException
                ):  # the log has reported that its dir failed
                    log.update_config(config)

    def reconfigure(self, default_config: LogConfig, config_of: Callable[[str], LogConfig]) -> None:
        """Set the broker's changed configuration. New logs use it; each existing log gets the
        result of `config_of` for its topic.
        """
        self.default_config = default_config
        for log in self._all_logs():
            with contextlib.suppress(KafkaException):  # the log has reported that its dir failed
                log.update_config(config_of(log.topic_partition.topic))

    def resize_recovery_threads(self, threads: int) -> None:
        """Set num.recovery.threads.per.data.dir, the number of workers for each dir."""
        self._recovery_threads = threads

    def truncate_to(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Truncate each log to its offset. Partitions without a log are skipped."""
        for topic_partition, offset in offsets.items():
            log = self._logs.get(topic_partition)
            if log is not None:
                log.truncate_to(offset, self._time.milliseconds())
                for notify in self._on_truncation:
                    notify(topic_partition, log.log_end_offset)

    def truncate_fully_and_start_at(self, topic_partition: TopicPartition, offset: int) -> None:
        """Delete all records of a log. The empty log then begins at `offset`."""
        log = self._logs.get(topic_partition)
        if log is not None:
            log.truncate_fully_and_start_at(offset, self._time.milliseconds())
            for notify in self._on_truncation:
                notify(topic_partition, offset)

    def truncate_future_to(self, topic_partition: TopicPartition, offset: int) -> None:
        """Truncate a future log to `offset`. Raises KAFKA_STORAGE_ERROR."""
        self._future_logs[topic_partition].truncate_to(offset, self._time.milliseconds())

    def truncate_future_fully_and_start_at(
        self, topic_partition: TopicPartition, offset: int
    ) -> None:
        """Delete all records of a future log, which then begins at `offset`.

        Raises KAFKA_STORAGE_ERROR.
        """
        future = self._future_logs[topic_partition]
        future.truncate_fully_and_start_at(offset, self._time.milliseconds())

    def on_truncation(self, notify: Callable[[TopicPartition, int], None]) -> None:
        """From now on call `notify` for each log that is truncated, with the log's new end."""
        self._on_truncation.append(notify)

    def on_deletion(self, notify: Callable[[TopicPartition], None]) -> None:
        """From now on call `notify` for each log that is deleted."""
        self._on_deletion.append(notify)

    def on_cleaning_paused(self, notify: Callable[[TopicPartition], None]) -> None:
        """Call `notify` with a log whose cleaning is paused."""
        self._on_cleaning_paused.append(notify)

    def on_replacement(self, notify: Callable[[str, str], None]) -> None:
        """Call `notify` with the log dirs of the old and the new log after each swap."""
        self._on_replacement.append(notify)

    def on_future_log_lost(self, notify: Callable[[TopicPartition, OSError], None]) -> None:
        """Call `notify` with each future log whose dir has failed, and the reason."""
        self._on_future_log_lost.append(notify)

    async def delete_logs(
        self, topic_partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, KafkaException]:
        """Delete logs. Return the partitions whose disk failed, with the reason.

        A worker renames the folders before this method returns, so new logs of the same names can
        be created. The folders are removed after file.delete.delay.ms.
        """
        await self._settle_replaced()
        given_up: list[_GivenUp] = []
        for tp in topic_partitions:
            self.resume_cleaning(tp)
            given_up += [
                gone for gone in (self._give_up_future(tp), self._give_up(tp)) if gone is not None
            ]
        return await self._move_aside_and_doom(given_up)

    async def _move_aside_and_doom(
        self, given_up: "Sequence[_GivenUp]"
    ) -> Mapping[TopicPartition, KafkaException]:
        """Let a worker rename the folders of logs that were given up, and remove them later.

        Return the partitions whose disk failed, with the reason.
        """
        failures: dict[TopicPartition, KafkaException] = {}
        for some in _pieces(given_up, LOGS_A_CALL):
            errors = await self._run_blocking(partial(_move_aside, some, self._file_system))
            for (log, folder, is_replica), error in zip(some, errors, strict=True):
                tp = log.topic_partition
                if error is None:
                    self._doom_segments(log)
                    self._removal.add_log(log, f"{log.log_dir}/{folder}")
                    self._start_removal()
                    if self._trace and is_replica:
                        topic, partition = tp
                        self._trace(LogDeleted(topic=topic, partition=partition, folder=folder))
                else:
                    log.close_handlers()
                    self._fail_log_dir(log.log_dir, error)
                    failure = KafkaException(Errors.KAFKA_STORAGE_ERROR, f"{tp}: {error}")
                    failure.__cause__ = error
                    failures[tp] = failure
        return failures

    def _give_up(self, topic_partition: TopicPartition) -> "_GivenUp | None":
        """Take a log out of use, and choose the name that its folder will get."""
        log = self._logs.pop(topic_partition, None)
        if log is None:
            return None
        for notify in self._on_deletion:
            notify(topic_partition)
        self._retire(log)
        return _GivenUp(log, delete_dir_name(topic_partition, self._unique_id()), is_replica=True)

    def _give_up_future(self, topic_partition: TopicPartition) -> "_GivenUp | None":
        log = self._future_logs.pop(topic_partition, None)
        if log is None:
            return None
        self._retire(log)
        return _GivenUp(log, delete_dir_name(topic_partition, self._unique_id()))

    def _retire(self, log: Log) -> None:
        """Forget a log that the broker no longer uses. Unmap the log's indexes at once, because
        each mapping keeps a file open, and a broker may delete thousands of logs.
        """
        self._noted.pop(log, None)
        self._unrenamed.pop(log, None)
        self._epochs_unwritten.pop(log, None)
        self._forget_samples(log)
        log.watch(
            None
        )  # `note` refers to the log: otherwise only the garbage collector would free it
        log.release_indexes()

    def _unique_id(self) -> int:
        """Return a number for the name of a folder; no other folder has this number."""
        self._deleted_folders += 1
        return self._time.milliseconds() << 64 | self._deleted_folders

    def _note(self, log: Log) -> None:
        """Start the work that a log needs now: renaming, flushing or removing segments, or writing
        epochs.
        """
        self._doom_segments(log)
        if log.unrenamed_segments:
            self._unrenamed[log] = None
            self._start("rename-deleted-segments", self._rename_deleted_segments)
        if log.flush_wanted:
            self._noted[log] = None
            self._start("flush-log", self._flush_noted)
        if log.leader_epoch_cache.unwritten:
            self._epochs_unwritten[log] = None
        if log.epochs_wanted:
            log.epochs_wanted = False
            self.write_leader_epochs()

    def _start(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` in the background, unless work of this name is running already."""
        if name in self._tasks:
            return

        async def run() -> None:
            await work()
            self._tasks.pop(
                name, None
            )  # at once: work that comes before the callback needs a new task

        task = self._tasks[name] = asyncio.get_running_loop().create_task(run(), name=name)
        task.add_done_callback(lambda done: self._ended(name, done))

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(name) is task:
            del self._tasks[name]
        error = failure_of(task)
        if error is not None and self._on_failure is not None:
            self._on_failure(name, error)
        elif error is not None:
            asyncio.get_running_loop().call_exception_handler(
                {"message": f"{name} failed", "exception": error, "task": task}
            )

    async def _flush_noted(self) -> None:
        while self._noted:
            log = next(iter(self._noted))
            del self._noted[log]
            await self._flush(log, log.active_segment.base_offset)

    def write_leader_epochs(self) -> None:
        """Write the files of leader epochs that have just begun.

        A worker writes them, because a broker may become leader of a thousand partitions at once.
        """
        if self._epochs_unwritten:
            self._start("write-leader-epochs", self._write_leader_epochs)

    async def _write_leader_epochs(self) -> None:
        while self._epochs_unwritten:
            logs = list(self._epochs_unwritten)
            self._epochs_unwritten.clear()
            await self._for_each(logs, lambda log: log.leader_epoch_cache.write())

    async def _rename_deleted_segments(self) -> None:
        while self._unrenamed:
            logs = list(self._unrenamed)
            self._unrenamed.clear()
            await self._for_each(logs, Log.rename_deleted_segments)
            for log in logs:
                self._doom_segments(log)

    def _doom_segments(self, log: Log) -> None:
        """Schedule the removal of the renamed segments' files after file.delete.delay.ms."""
        if self._removal.add_segments(log):
            self._start_removal()

    def _start_removal(self) -> None:
        self._start("kafka-delete-logs", self._removal.run)

    async def _for_each(self, logs: Sequence[Log], work: Callable[[Log], None]) -> None:
        """Call `work` for each log, in a worker. If it fails for a log, that log's dir goes
        offline.
        """
        folders = [log.directory for log in logs]
        failed = dict(await self._run_blocking(partial(_failures, logs, work)))
        renamed = [
            log for log, folder in zip(logs, folders, strict=True) if log.directory != folder
        ]
        for log, error in failed.items():
            if log not in renamed and self._is_known(log):
                self._fail_log_dir(log.log_dir, error)
        if again := [log for log in renamed if log in failed]:
            await self._for_each(again, work)

    async def _flush(self, log: Log, up_to: int) -> None:
        """Force a log to the disk up to an offset, in a worker. The loop may append to the log at
        the same time.
        """
        log.flush_wanted = False
        folder = log.directory
        segments = [segment for segment in log.unflushed_segments() if segment.base_offset < up_to]

        def flush() -> None:
            for segment in segments:
                segment.flush()
            log.leader_epoch_cache.flush()

        try:
            await self._run_blocking(flush)
        except OSError as error:
            if log.directory != folder:  # the worker looked for the files under their old names
                await self._flush(log, up_to)
            elif (
                not log.closed and self._is_known(log) and all(s in log.segments for s in segments)
            ):
                self._fail_log_dir(log.log_dir, error)
            return
        if not log.closed:
            log.flushed(up_to, self._time.milliseconds())

    def _forget_samples(self, log: Log) -> None:
        self._sampler.forget(log)
        self._forecasts.forget(log)

    async def cleanup_logs(self, now_ms: int) -> None:
        """Apply retention to all logs, and forget expired producers. O(segments)."""
        await in_turns(self._cleanup(now_ms), self._time)

    def _cleanup(self, now_ms: int) -> Steps[None]:
        for log in self._all_logs():
            yield
            if not self._is_known(log):
                continue  # it was deleted during the pause
            try:
                if not (self.cleaner_runs and log.topic_partition in self._cleaning_paused):
                    log.delete_old_segments(now_ms)
            except KafkaException:
                continue  # the log has reported the failure of its dir
            expired = log.producer_state_manager.remove_expired(now_ms)
            if expired and self._trace and self._logs.get(log.topic_partition) is log:
                self._trace(
                    ProducersExpired(
                        topic=log.topic_partition.topic,
                        partition=log.topic_partition.partition,
                        producer_ids=tuple(expired),
                    )
                )

    async def flush_dirty_logs(self, now_ms: int) -> None:
        """Flush the logs whose last flush was at least flush.ms ago."""
        for log in self._all_logs():
            if (
                log.recovery_point < log.log_end_offset
                and now_ms - log.last_flushed_ms >= log.config.flush_ms
            ):
                await self._flush(log, log.log_end_offset)

    async def checkpoint_recovery_point_offsets(self) -> None:
        """Write each log's recovery point into the checkpoint file of its log dir.

        At the next start after a crash, the broker need not read the records below the recovery
        point.
        """
        await self._checkpoint_recovery_points(self.log_dirs)

    async def checkpoint_log_start_offsets(self) -> None:
        """Write the log start offsets that differ from the base offset of the first segment on the
        disk.
        """
        await self._checkpoint_log_starts(self.log_dirs)

    async def _checkpoint_recovery_points(self, dirs: Collection[str]) -> None:
        await self._checkpoint(self._recovery_points, lambda log: log.recovery_point, dirs)

    async def _checkpoint_log_starts(self, dirs: Collection[str]) -> None:
        await self._checkpoint(
            self._start_offsets,
            lambda log: (
                log.log_start_offset if log.log_start_offset > log.first_base_on_disk else None
            ),
            dirs,
        )

    async def _checkpoint(
        self,
        files: Mapping[str, OffsetCheckpointFile],
        offset_of: Callable[[Log], int | None],
        dirs: Collection[str],
    ) -> None:
        for log_dir in self.live_log_dirs:
            if log_dir not in dirs:
                continue
            offsets = {}
            for log in self._all_logs():
                offset = offset_of(log) if log.log_dir == log_dir else None
                if offset is not None:
                    offsets[log.topic_partition] = offset
            file = files[log_dir]
            try:
                await self._run_blocking(partial(file.write, offsets))
            except OSError as error:
                self._fail_log_dir(log_dir, error)
                continue
            if self._trace:
                self._trace(
                    CheckpointWritten(
                        log_dir=log_dir, file=file.path.rpartition("/")[2], entries=len(offsets)
                    )
                )

    async def shutdown(self) -> None:
        """Flush and close all logs, and write the checkpoints. Finally write
        `.kafka_cleanshutdown`, so that no log is recovered at the next start.

        As in Kafka, num.recovery.threads.per.data.dir workers do this for each dir. With thousands
        of logs the shutdown takes some time, during which the loop still runs.
        """
        if self._making:  # the logs that a worker is creating are closed with the others
            await asyncio.wait(list(self._making))
        await self._settle_replaced()
        for task in list(self._tasks.values()):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()))
        by_dir = {
            log_dir: [log for log in self._all_logs() if log.log_dir == log_dir]
            for log_dir in self.live_log_dirs
        }
        await asyncio.gather(
            *(
                self._with_workers(logs, lambda log: self._flush(log, log.log_end_offset))
                for logs in by_dir.values()
            )
        )
        await self.checkpoint_recovery_point_offsets()
        await self.checkpoint_log_start_offsets()
        self._future_logs.clear()
        self._logs.clear()  # so that no log is found while it is being closed
        await asyncio.gather(
            *(self._close(log_dir, by_dir[log_dir]) for log_dir in self.live_log_dirs)
        )

    async def _close(self, log_dir: str, logs: Collection[Log]) -> None:
        """Close the logs of a dir, and mark the dir as cleanly closed."""
        try:
            await self._with_workers(logs, lambda log: self._run_blocking(log.close))
            await self._run_blocking(
                lambda: self._file_system.write_atomically(f"{log_dir}/{CLEAN_SHUTDOWN_FILE}", b"")
            )
        except OSError as error:
            self._fail_log_dir(log_dir, error)

    async def _with_workers(
        self, logs: Collection[Log], work: Callable[[Log], Awaitable[None]]
    ) -> None:
        """Call `work` for each log, at most num.recovery.threads.per.data.dir calls at a time.

        Raises the first error.
        """
        workers = asyncio.Semaphore(self._recovery_threads)

        async def one(log: Log) -> None:
            async with workers:
                await work(log)

        await asyncio.gather(*map(one, logs))

    def handle_log_dir_failure(self, log_dir: str, reason: OSError) -> None:
        """Take the logs in `log_dir` offline, because a read or write there failed with `reason`.

        Logs in other dirs are not affected.
        """
        self._fail_log_dir(log_dir, reason)

    def _fail_log_dir(self, log_dir: str, reason: OSError) -> None:
        if log_dir in self._offline:
            return
        self._offline[log_dir] = None
        lost_copies = [tp for tp, log in self._future_logs.items() if log.log_dir == log_dir]
        for tp in lost_copies:
            self._future_logs.pop(tp).close_handlers()
        lost = [
            topic_partition for topic_partition, log in self._logs.items() if log.log_dir == log_dir
        ]
        for topic_partition in lost:
            log = self._logs.pop(topic_partition)
            self._forget_samples(log)
            self.resume_cleaning(topic_partition)
            log.close_handlers()
        failed = 0
        if self._trace:
            failed = self._trace(LogDirFailed(log_dir=log_dir, reason=str(reason)))
        with because(self._trace, failed):
            if self._on_log_dir_failure is not None:
                self._on_log_dir_failure(log_dir, reason, lost)
            for tp in lost_copies:
                for notify in self._on_future_log_lost:
                    notify(tp, reason)


def _os_error(failures: Iterable[BaseException]) -> OSError:
    """Return the first failure as an OSError. All failures are OSErrors."""
    return next(failure for failure in failures if isinstance(failure, OSError))


def _failures(logs: Iterable[Log], work: Callable[[Log], None]) -> list[tuple[Log, OSError]]:
    """Call `work` for each log. Return the logs for which it failed, with the OSError."""
    failed: list[tuple[Log, OSError]] = []
    for log in logs:
        try:
            work(log)
        except OSError as error:
            failed.append((log, error))
    return failed


def _pieces(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the items in lists of at most `size`."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _move_aside(given_up: Iterable[_GivenUp], files: FileSystem) -> list[OSError | None]:
    """Rename the folders of deleted logs. For each folder, return the OSError, or None. Blocks."""
    errors: list[OSError | None] = []
    for log, folder, _ in given_up:
        log.leader_epoch_cache.close()
        try:
            log.rename_deleted_segments()  # before the folder is renamed, so that they are found
            files.rename(log.directory, f"{log.log_dir}/{folder}")
        except OSError as error:
            errors.append(error)
        else:
            errors.append(None)
    return errors
