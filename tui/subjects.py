"""For each widget: the events that feed it, and the classes that emit them.

`?` shows this table and `o` opens the module. Modules are given as names and not imported, because
the dashboard knows brokers only from their events. A test compares every name with the source.
"""

from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from kafka_edu.instruments.rebalances import GROUP_EVENTS, MEMBER_EVENTS, OFFSET_EVENTS
from kafka_edu.instruments.request_times import REQUEST_EVENTS
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.log import LogDirFailed
from kafka_edu.trace.events.supervisor import ActionAsked, ActionDone

from .view_model.broker_view import BROKER_EVENTS
from .view_model.client_view import CONSUMER_EVENTS, LINK_EVENTS, PRODUCER_EVENTS, SEEN_EVENTS
from .view_model.cluster_view import HEADER_EVENTS
from .view_model.controller_view import CONTROLLER_EVENTS, DECISION_EVENTS, STATE_EVENTS
from .view_model.learners_view import LEARNER_EVENTS
from .view_model.load_view import LOAD_EVENTS
from .view_model.log_view import CLEANER_EVENTS, SEGMENT_EVENTS
from .view_model.motion_view import MOTION_EVENTS
from .view_model.moves_view import MOVE_EVENTS, THROTTLE_EVENTS
from .view_model.partition_view import PARTITION_EVENTS
from .view_model.purgatory_view import ENDED_EVENTS, WAITING_EVENTS
from .view_model.replication_view import (
    EPOCH_EVENTS,
    ISR_EVENTS,
    PROGRESS_EVENTS,
    TRUNCATION_EVENTS,
)
from .view_model.requests_view import HOP_EVENTS
from .view_model.transactions_view import HELD_EVENTS, TRANSACTION_EVENTS
from .view_model.wheels_view import PURGATORY_EVENTS, TIMER_EVENTS
from .view_model.wire_view import WIRE_EVENTS
from .view_model.zookeeper_view import FIRED_EVENTS, SESSION_EVENTS, ZNODE_EVENTS


class Source(NamedTuple):
    """A class of the broker: its module within the package kafka_edu, and its name."""

    module: str
    cls: str

    def path(self) -> Path:
        """Return the path of the module's file in the installed package."""
        return Path(str(files("kafka_edu"))) / (self.module.replace(".", "/") + ".py")

    def line(self) -> int:
        """Return the number of the line on which the class begins, or 1 if it is not found."""
        for number, text in enumerate(self.path().read_text(encoding="utf-8").splitlines(), 1):
            if text.startswith((f"class {self.cls}(", f"class {self.cls}:")):
                return number
        return 1


class Subject(NamedTuple):
    """The description of one widget: its text, its events and its classes."""

    title: str
    words: str
    events: tuple[type[Event], ...]
    sources: tuple[Source, ...]
    """The classes that emit the events. `o` opens the first one."""


HEADER = Subject(
    "The cluster at a glance",
    "The first line answers: is all well? A partition is under-replicated when fewer of its"
    " replicas are in sync than were assigned. The second line is the evidence: the controller and"
    " its epoch, ZooKeeper, and the time since the last change.",
    HEADER_EVENTS,
    (
        Source("controller.kafka_controller", "KafkaController"),
        Source("controller.active_controller", "ActiveController"),
        Source("supervisor.main", "Supervisor"),
    ),
)
BROKERS = Subject(
    "A broker",
    "Bytes in and out per second over all connections of the broker, including followers' fetches."
    " Each column is half a second. All processors share one bounded request queue"
    " (queued.max.requests); handlers take from it (num.io.threads). Memory is the process's own"
    " memory (RssAnon). ♛ marks the controller.",
    BROKER_EVENTS,
    (
        Source("server.kafka_server", "KafkaServer"),
        Source("network.socket_server", "SocketServer"),
        Source("network.request_channel", "RequestChannel"),
        Source("supervisor.child_process", "ChildProcess"),
    ),
)
PARTITIONS = Subject(
    "Partitions and replicas",
    "● leads, ○ is in the ISR, ◌ is out of sync, ✕ is on a dead broker; ★n: broker n should lead,"
    " because it is the first assigned replica, but it does not lead. LEO is the leader's log end,"
    " HW the offset below"
    " which all replicas in sync have every record: consumers read no further. Lag = LEO -"
    " HW. If the ISR is smaller than min.insync.replicas, a produce with acks=all is refused.",
    PARTITION_EVENTS,
    (
        Source("replication.partition", "Partition"),
        Source("replication.isr", "IsrState"),
        Source("controller.zk_partition_state_machine", "ZkPartitionStateMachine"),
        Source("replication.partitions", "Partitions"),
    ),
)
TICKER = Subject(
    "What happened, and why",
    "Each line is a fact, reported by sup (the supervisor), b0, b1 … (the brokers) or zk. Within a"
    " broker a fact names its cause. Between processes two facts are linked by a thing that both"
    " name: a znode, an epoch, a connection. [enter] shows the chain of causes.",
    (ActionAsked, ActionDone),
    (Source("trace.reader", "History"), Source("trace.tracer", "Tracer")),
)
LOAD = Subject(
    "The load",
    "Producers and consumers that `l` started here, or the command `load` in a shell: kafka-edu's"
    " own clients, whose inside the screen Client (C) shows. Waiting records are sent but not"
    " answered yet. An acked record is lost if a consumer has read past its offset without finding"
    " it.",
    LOAD_EVENTS,
    (Source("clients.load.load", "Load"), Source("clients.load.load_tally", "LoadTally")),
)
LEARNERS = Subject(
    "Your parts",
    "The exercises whose code, written by a learner, runs in these brokers instead of ours, and"
    " how often each was called. ✕ counts the errors of this code: then our code answers. After"
    " three errors in a broker, that broker uses only our code. `lab my-broker` starts such a"
    " cluster.",
    LEARNER_EVENTS,
    (Source("learner.seams", "LearnerCode"), Source("learner.learner", "Learner")),
)
WHEELS = Subject(
    "Hierarchical timing wheels",
    "A wheel of 20 slots for each level; a slot of level 2 is as long as the whole of level 1. A"
    " task goes into the finest wheel that reaches its deadline. When a slot of a higher level"
    " is due, its tasks come down to a finer wheel (降级). ▲ is the hand: it jumps to the next slot"
    " that has tasks, and skips empty slots, because a queue of buckets says when to wake up. ◆"
    " marks the slot of the wheel that is due next.",
    TIMER_EVENTS,
    (
        Source("timer.timing_wheel", "TimingWheel"),
        Source("timer.system_timer", "SystemTimer"),
        Source("timer.delay_queue", "DelayQueue"),
        Source("timer.timer_task_list", "TimerTaskList"),
    ),
)
WAITING = Subject(
    "Why is it still waiting?",
    "A purgatory holds requests that cannot be answered yet. Each is completed once: by an event"
    " that brings what it needs, or by its deadline on the wheel. The lines show what a request"
    " needs, what it has now, and which broker is behind.",
    PURGATORY_EVENTS,
    (
        Source("purgatory.delayed_operation_purgatory", "DelayedOperationPurgatory"),
        Source("purgatory.delayed_operation", "DelayedOperation"),
        Source("replication.delayed_produce", "DelayedProduce"),
        Source("replication.delayed_fetch", "DelayedFetch"),
    ),
)
TROUBLE = Subject(
    "Partitions, the worst first",
    "The order: without a live leader; below min.insync.replicas, so that acks=all is refused;"
    " under-replicated; lagging; recently truncated; in sync. A replica lags if it lacks records"
    " and"
    " has not caught up for more than a second. Internal topics are folded while all their"
    " replicas are in sync.",
    PROGRESS_EVENTS + ISR_EVENTS,
    (
        Source("replication.partition", "Partition"),
        Source("replication.partitions", "Partitions"),
        Source("replication.isr_writer", "IsrUpdates"),
    ),
)
REPLICAS = Subject(
    "How far is each replica?",
    "All replicas on one scale of offsets. Full bars are committed: they lie below the high"
    " watermark (HW), which every member of the ISR has passed. Light bars are written and not"
    " committed yet. The log end offset (LEO) is where the bar ends. The leader learns a follower's"
    " LEO from its next fetch: the remote LEO. A follower that has not caught up for"
    " replica.lag.time.max.ms leaves the ISR, and the HW no longer waits for it. A new leader"
    " begins a"
    " leader epoch at its LEO. A follower asks the leader where the follower's last epoch ends,"
    " and cuts off the records that the leader does not have. Cut offsets are drawn as ╳. Later"
    " records of the new leader fill them again.",
    PROGRESS_EVENTS + ISR_EVENTS + EPOCH_EVENTS + TRUNCATION_EVENTS,
    (
        Source("replication.partition", "Partition"),
        Source("replication.replica", "Replica"),
        Source("replication.replica_fetcher", "ReplicaFetcher"),
        Source("replication.isr", "IsrState"),
        Source("log.leader_epoch_file_cache", "LeaderEpochFileCache"),
    ),
)
LOGS = Subject(
    "The logs of a broker",
    "A replica's log is a folder of segments. Retention deletes whole segments, the oldest first:"
    " by the time of their newest record (retention.ms), by the size of the rest"
    " (retention.bytes), or because all their records are below the log start offset. Retention"
    " checks every log.retention.check.interval.ms. A compacted topic keeps the last value of each"
    " key instead."
    " [enter] shows the causes of the last change.",
    (*SEGMENT_EVENTS, *CLEANER_EVENTS, LogDirFailed),
    (
        Source("log.log_manager", "LogManager"),
        Source("log.log", "Log"),
        Source("log.log_forecast", "ForecastSampler"),
    ),
)
SEGMENTS = Subject(
    "What is on the disk?",
    "The line shows the offsets of the log. ┬ marks where a segment begins, ▼ a limit: the high"
    " watermark, the last stable offset (no transaction is open below it), the recovery point"
    " (everything below it is forced to the disk), and where the dirty part begins. Below, each"
    " segment is a bar; its length shows its size. Only the active segment (▓) is written to. It"
    " rolls when it is full or old. ░ is a segment that has left the log; its files are deleted"
    " after file.delete.delay.ms. The cleaner copies the last value of each key. It chooses a log"
    " whose dirty share is above"
    " min.cleanable.dirty.ratio.",
    SEGMENT_EVENTS + CLEANER_EVENTS,
    (
        Source("log.log_segment", "LogSegment"),
        Source("log.log", "Log"),
        Source("log.cleaner.log_cleaner", "LogCleaner"),
        Source("log.cleaner.log_cleaner_manager", "LogCleanerManager"),
    ),
)
MOVES = Subject(
    "What moves?",
    "A reassignment moves replicas between brokers: the new replicas copy the log as followers"
    " (phase A). When all of them are in the ISR, the old replicas are deleted (phase B). A move"
    " between log dirs"
    " copies a replica into a future log in another dir of its broker, and then swaps the two. A"
    " broker that is stopped with SIGTERM first gives its leaderships away. The bar compares the"
    " sizes of the logs. [enter] shows the causes of the last phase.",
    MOVE_EVENTS,
    (
        Source("controller.partition_reassignments", "PartitionReassignments"),
        Source("replication.replica_alter_log_dirs_manager", "ReplicaAlterLogDirsManager"),
        Source("server.kafka_server", "KafkaServer"),
    ),
)
THROTTLES = Subject(
    "What slows the move down?",
    "The phases of the chosen move, each with the time since its beginning. Below are the throttles"
    " of replication: leader.replication.throttled.rate limits the bytes that a broker sends to"
    " replicas that are not in sync, and follower.replication.throttled.rate limits the bytes that"
    " it fetches. reassign-partitions"
    " --throttle sets them, and --verify removes them.",
    MOVE_EVENTS + THROTTLE_EVENTS,
    (
        Source("replication.replication_quota_manager", "ReplicationQuotaManager"),
        Source("controller.partition_reassignments", "PartitionReassignments"),
    ),
)
CLIENTS = Subject(
    "What does the client hold?",
    "kafka-edu's own producers and consumers report their state ten times a second, if they have a"
    " tracer. The load has one, and a program can have one. Below them are other clients, with"
    " what the brokers know about them: their requests and their group. The buffer is"
    " buffer.memory: batches in the queues and in"
    " flight. The bars of a consumer show the time that is left: until session.timeout.ms without"
    " an answered heartbeat, and until max.poll.interval.ms without poll().",
    PRODUCER_EVENTS + CONSUMER_EVENTS + LINK_EVENTS + SEEN_EVENTS,
    (
        Source("clients.producer.producer", "Producer"),
        Source("clients.consumer.consumer", "Consumer"),
        Source("clients.client_connections", "ClientConnections"),
    ),
)
CLIENT_PARTITIONS = Subject(
    "Why has it not been sent?",
    "For a producer: the batches of each partition in the accumulator, and why the oldest batch is"
    " not sent: linger.ms has not passed, no leader is known, the connection has too many requests"
    " in flight, or the batch was sent already and waits for retry.backoff.ms. For a consumer: the"
    " position"
    " (the next record of poll()), the committed offset, the high watermark of the last fetch, and"
    " the lag between the two.",
    PRODUCER_EVENTS + CONSUMER_EVENTS,
    (
        Source("clients.producer.record_accumulator", "RecordAccumulator"),
        Source("clients.producer.sender", "Sender"),
        Source("clients.consumer.subscription_state", "SubscriptionState"),
    ),
)
PURGATORY = Subject(
    "Why is this request still waiting?",
    "A request that cannot be answered yet waits in a purgatory, under keys: its partitions, its"
    " group, its topics. At each event of a key the request checks again whether it can be"
    " answered. Each request is completed once: by an event or by its deadline. With acks=all the"
    " high watermark must pass the request's last record. The high watermark is the smallest LEO"
    " of the ISR, so one follower that does not fetch stops it. That"
    " follower is named, with the records that it lacks. The longest waiting comes first. Fetches"
    " and heartbeats come last, because their clients want them to wait.",
    WAITING_EVENTS,
    (
        Source("purgatory.delayed_operation_purgatory", "DelayedOperationPurgatory"),
        Source("purgatory.delayed_operation", "DelayedOperation"),
        Source("replication.delayed_produce", "DelayedProduce"),
        Source("replication.delayed_fetch", "DelayedFetch"),
        Source("coordinator.group.delayed_join", "DelayedJoin"),
        Source("coordinator.group.delayed_heartbeat", "DelayedHeartbeat"),
        Source("replication.isr_writer", "IsrUpdates"),
    ),
)
ENDED = Subject(
    "What ended the others?",
    "The operations of the last ten seconds, counted by what ended them. The typical wait is the"
    " median, with an error of at most 2 %. Brokers count causes only while this screen is open."
    " Below, one by one, are operations that waited longer than 100 ms although their client did"
    " not want to wait, or that a change of the cluster ended. [enter] shows the causes of one. ✓"
    " it got what it needed, ◷ its time was over, ✗ it ended for another reason.",
    ENDED_EVENTS,
    (
        Source("purgatory.delayed_operation_purgatory", "DelayedOperationPurgatory"),
        Source("replication.partition", "Partition"),
        Source("purgatory.expired_operation_reaper", "ExpiredOperationReaper"),
    ),
)
CONTROLLER_QUEUE = Subject(
    "The controller and its queue",
    "One broker is the controller: the one that made /controller. Watches, requests and timers put"
    " events into its queue, and one task takes them out, one after another. `Waited` is the time"
    " in the queue, `took` the time until the event was done. Each broker has such a queue, because"
    " each may become the controller: a lost election is an event too.",
    CONTROLLER_EVENTS,
    (
        Source("controller.controller_event_manager", "ControllerEventManager"),
        Source("controller.kafka_controller", "KafkaController"),
        Source("controller.active_controller", "ActiveController"),
    ),
)
DECISIONS = Subject(
    "What followed from an event",
    "An election looks at the replicas in the order of AR (the assigned replicas, the preferred"
    " one first). ✓ marks the chosen replica, ✕ one that is not alive, ◌ one that is not in the"
    " ISR, ○ one that could lead too. Below are the requests that the controller sent to the"
    " brokers, how many partitions each named, and when it was answered.",
    DECISION_EVENTS,
    (
        Source("controller.zk_partition_state_machine", "ZkPartitionStateMachine"),
        Source("controller.leader_election", "ElectionStrategy"),
        Source("controller.controller_brokers_request_batch", "ControllerBrokersRequestBatch"),
        Source("controller.controller_channel_manager", "ControllerChannelManager"),
    ),
)
STATE_MACHINES = Subject(
    "The two state machines",
    "A partition has one of four states, a replica one of seven. Each line is a state, how many"
    " are in it now, and the states that may follow, with how often that was seen. The table comes"
    " from the controller's code, in a snapshot. ! marks a change that is not in the table: a new"
    " controller sets the states that it finds in ZooKeeper.",
    STATE_EVENTS,
    (
        Source("controller.partition_state_machine", "PartitionState"),
        Source("controller.replica_state_machine", "ReplicaState"),
        Source("controller.zk_partition_state_machine", "ZkPartitionStateMachine"),
        Source("controller.zk_replica_state_machine", "ZkReplicaStateMachine"),
    ),
)
ZNODES = Subject(
    "The tree of znodes",
    "vN is the version of a znode's data: each write adds one, and a conditional write names the"
    " version that the writer has read. ⚡ marks an ephemeral znode and the session with which it"
    " is deleted. ⊙ names"
    " the brokers that watch it. [enter] opens and closes; a closed znode says how many children"
    " it has. Without our own ZooKeeper the tree has only what the brokers report.",
    ZNODE_EVENTS,
    (
        Source("zk.embedded.data_tree", "DataTree"),
        Source("zk.embedded.watch_manager", "WatchManager"),
        Source("zk.kafka_zk_client", "KafkaZkClient"),
    ),
)
SESSIONS = Subject(
    "Sessions",
    "If ZooKeeper hears nothing from a client within its time-out, its session expires, and its"
    " ephemeral znodes are deleted. The bar is the time that is left. The server rounds the end up"
    " to a tick, so a"
    " silent session lives a little longer than its time-out. A killed client and a paused one"
    " look the same to ZooKeeper: both send nothing.",
    SESSION_EVENTS,
    (
        Source("zk.embedded.session_tracker", "SessionTracker"),
        Source("zk.embedded.zookeeper_server", "ZooKeeperServer"),
    ),
)
FIRED = Subject(
    "Watches that fired",
    "A watch fires once, for the first change after it was set, and is then removed. A client sets"
    " it again when it reads. The watch says only that something changed. The controller"
    " makes one of its events from it. The right side shows this event, how long it waited,"
    " and how long it took.",
    FIRED_EVENTS,
    (
        Source("zk.embedded.watch_manager", "WatchManager"),
        Source("controller.kafka_controller", "KafkaController"),
        Source("server.config.dynamic_config_manager", "DynamicConfigManager"),
    ),
)
GROUPS = Subject(
    "Why did this group rebalance, and which member do the others wait for?",
    "The coordinator of a group is the leader of one partition of __consumer_offsets. A rebalance"
    " begins when a member joins, leaves, sends no heartbeats or changes its subscription. In"
    " PreparingRebalance the group waits until each known member has joined again, at most for the"
    " largest max.poll.interval.ms of a member. In CompletingRebalance it waits for the leader's"
    " assignment. Members learn of a rebalance from the answer to their next heartbeat. So a slow"
    " or"
    " stopped member keeps all others waiting.",
    GROUP_EVENTS,
    (
        Source("coordinator.group.group_rebalancer", "GroupRebalancer"),
        Source("coordinator.group.group_metadata", "GroupMetadata"),
        Source("coordinator.group.delayed_join", "DelayedJoin"),
        Source("instruments.rebalances", "Rebalances"),
    ),
)
GROUP_MEMBERS = Subject(
    "Members, their partitions and their offsets",
    "● is in the group, + joined in the chosen rebalance, ◌ is waited for, ✕ was removed. The bar"
    " is the rest of session.timeout.ms since the last heartbeat. Before → after shows the"
    " assignment; partitions that moved are bold. Lag is the high watermark minus the committed"
    " offset.",
    (*MEMBER_EVENTS, *OFFSET_EVENTS),
    (
        Source("coordinator.group.member_metadata", "MemberMetadata"),
        Source("coordinator.group.delayed_heartbeat", "DelayedHeartbeat"),
        Source("coordinator.group.group_offsets", "GroupOffsets"),
    ),
)
REQUESTS = Subject(
    "Where does the time of requests go?",
    "Each request is timed as Kafka times it. Queue: it waits for a handler. Local: the handler"
    " works. Remote: it waits in a purgatory, for followers or records. Throttle: a quota mutes its"
    " connection; this broker has no quotas yet. Response queue and send: the way back. The six"
    " cells are means of the last ten seconds, p50 and p99 are of the total. Fetches of consumers"
    " and followers wait for records on purpose.",
    REQUEST_EVENTS,
    (
        Source("network.request_metrics", "RequestMetrics"),
        Source("network.request_channel", "RequestChannel"),
        Source("server.kafka_request_handler_pool", "KafkaRequestHandlerPool"),
        Source("network.processor", "Processor"),
    ),
)
SLOW_REQUESTS = Subject(
    "The slowest requests of the last minute",
    "Requests that took longer than 100 ms, not counting the time that their client wanted to"
    " wait. Each line has the client, the correlation id and the part that took most of the time."
    " [enter] shows the way hop by hop. Single hops are recorded only while `h` is on, because"
    " they cost the broker five events for each request.",
    HOP_EVENTS,
    (
        Source("network.request", "Request"),
        Source("server.kafka_apis", "KafkaApis"),
        Source("network.channel", "KafkaChannel"),
    ),
)
WIRE_FRAMES = Subject(
    "Captured frames",
    "Each line is a request (→) or a response (←) that a broker captured, with its API, version,"
    " client and correlation id. A response has the correlation id of its request, on the same"
    " connection. A red line begins with bytes that are not a request. c switches the capture on"
    " and"
    " off: it changes edu.capture.clients.",
    WIRE_EVENTS,
    (
        Source("network.frame_capture", "FrameCapture"),
        Source("network.frame_capture", "CaptureFile"),
        Source("instruments.wire.capture", "CaptureFollower"),
    ),
)
WIRE_TREE = Subject(
    "A frame as a tree",
    "Each field with its value and its type, in the order of its bytes. ▸ opens lengths, counts,"
    " varints and records. The field under the cursor lights up in the bytes, and its line below"
    " shows which versions of the message have it. Bytes after the first wrong byte are not"
    " decoded. A"
    " broker closes the connection of a client that sends such a frame.",
    WIRE_EVENTS,
    (
        Source("instruments.wire.walker", "Walker"),
        Source("instruments.wire.cursor", "Cursor"),
        Source("protocol.schema", "Message"),
    ),
)
WIRE_BYTES = Subject(
    "The bytes of a frame",
    "Every byte in hex, beginning with the size of the frame. The bytes of the chosen field light"
    " up. The"
    " first wrong byte is red, and ✗ marks its line. The cursor chooses a byte, and the tree shows"
    " the field that has it. Stars (2a) may stand for a secret, which is hidden before a frame is"
    " stored.",
    WIRE_EVENTS,
    (
        Source("protocol.framing", "FrameReceiver"),
        Source("network.channel", "KafkaChannel"),
        Source("instruments.wire.tree", "Node"),
    ),
)
TRANSACTIONS = Subject(
    "Transactional ids",
    "Each line is a transactional.id: its producer id and epoch, its coordinator (the leader of its"
    " partition of __transaction_state) and its state. A transaction ends in two steps. The"
    " coordinator decides (PrepareCommit, PrepareAbort), and then it writes a marker into each"
    " partition. ■ is a written marker, □ one that is waited for. After transaction.timeout.ms the"
    " coordinator aborts an open transaction and fences its producer: it raises the epoch.",
    TRANSACTION_EVENTS,
    (
        Source("coordinator.transaction.transaction_state_manager", "TransactionStateManager"),
        Source("coordinator.transaction.transaction_coordinator", "TransactionCoordinator"),
        Source(
            "coordinator.transaction.transaction_marker_channel_manager",
            "TransactionMarkerChannelManager",
        ),
    ),
)
HELD_PARTITIONS = Subject(
    "The partitions of transactions",
    "Consumers with read_committed read up to the last stable offset (LSO), others up to the HW."
    " The LSO stops at the first batch of the oldest open transaction in this log. The leader"
    " reports its producer, and since when it is open. If the coordinator does not know this"
    " transaction, no marker will come: the transaction hangs. A transaction whose marker is"
    " written still holds the LSO until the marker is"
    " replicated.",
    HELD_EVENTS,
    (
        Source("log.producer_state_manager", "ProducerStateManager"),
        Source("log.log", "Log"),
        Source("replication.partition", "Partition"),
    ),
)
MOTION = Subject(
    "Slow motion",
    "One sampled produce request on its way, with a lane for each process and a linear time axis;"
    " or one timer task that comes down the levels. Each mark is an event that happened, at its"
    " true"
    " time. Only the speed is not real: the head says how much it is slowed. While slow motion is"
    " on, the brokers send every hop.",
    MOTION_EVENTS,
    (
        Source("trace.reader", "History"),
        Source("replication.partition", "Partition"),
        Source("timer.system_timer", "SystemTimer"),
    ),
)
ALL_SUBJECTS = (
    MOTION,
    LOAD,
    LEARNERS,
    HEADER,
    BROKERS,
    PARTITIONS,
    TICKER,
    WHEELS,
    WAITING,
    PURGATORY,
    ENDED,
    TROUBLE,
    REPLICAS,
    LOGS,
    SEGMENTS,
    MOVES,
    THROTTLES,
    CLIENTS,
    CLIENT_PARTITIONS,
    CONTROLLER_QUEUE,
    DECISIONS,
    STATE_MACHINES,
    ZNODES,
    SESSIONS,
    FIRED,
    GROUPS,
    GROUP_MEMBERS,
    REQUESTS,
    SLOW_REQUESTS,
    TRANSACTIONS,
    HELD_PARTITIONS,
    WIRE_FRAMES,
    WIRE_TREE,
    WIRE_BYTES,
)
