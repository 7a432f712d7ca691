"""Everything that the dashboard knows, in one place.

Every event passes through the model. When a recording is rewound, the model is emptied and filled
again.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka_edu.common.words import joined
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events.simulation import SimulationSampled

from .view_model.client_view import ClientsView
from .view_model.cluster_view import ClusterView
from .view_model.controller_view import ControllerView
from .view_model.groups_view import GroupsView
from .view_model.keyframe import copied
from .view_model.learners_view import LearnersView
from .view_model.load_view import LoadsView
from .view_model.log_view import LogsView, LogView
from .view_model.motion_view import MotionView
from .view_model.moves_view import MovesView
from .view_model.partition_view import PartitionView
from .view_model.purgatory_view import PurgatoryView
from .view_model.reducer import Routes
from .view_model.replication_view import ReplicationView
from .view_model.requests_view import RequestsView
from .view_model.ticker import Ticker
from .view_model.transactions_view import TransactionsView
from .view_model.wheels_view import WheelsView
from .view_model.wire_view import WireView
from .view_model.zookeeper_view import ZookeeperView

NEVER: Final = -1
"""The age of values that were never sampled."""
_NO_STATE: Final = frozenset(
    {
        "name",
        "pause",
        "late_us",
        "flooded",
        "left_out",
        "reads_rings",
        "motion",
        "wire",
        "simulation",
        "also_lanes",
        "goes_on_in_past",
        "_routes",
    }
)


class Pause(NamedTuple):
    """The state of a view that is behind the present, or was stopped at a breakpoint."""

    behind_us: int
    stopped_by: str = ""
    """The breakpoint's name and the event that met it, as a text."""
    speed: float = 0.0
    """The speed at which the view plays. 0 if it is paused."""
    not_held: int = 0
    """The number of events since the pause that were not kept, because there was no room."""


class Model:
    """The reducers of all screens. Widgets hold the model and read from it when they draw."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pause: Pause | None = None
        """The position of a paused view, or None. Set by the player; not part of the saved
        state.
        """
        self.late_us = 0
        """How late a live cluster's events arrive, in µs.

        Set by the app; not part of the saved state.
        """
        self.flooded = False
        """Whether expensive work is delayed, because very many events arrive. Set by the app."""
        self.left_out: Counter[str] = Counter()
        """Event type → how many events of the last seconds were not shown, because there was no
        time.

        Set by the app; not part of the saved state.
        """
        self.simulation: SimulationSampled | None = None
        """The current state of a simulated run, or None for a real cluster. Set by the app."""
        self.also_lanes: frozenset[Source] = frozenset()
        """Processes that get a lane in the time line, because a future that is shown next to this
        one has them. Set by the app.
        """
        self.goes_on_in_past = True
        """Whether the space key lets a simulated run go on from a past moment. Set by the app."""
        self.reads_rings = False
        """Whether the past is being read from the processes' rings. Set by the app."""
        self.motion = MotionView()
        """Slow motion. It has a clock of its own, so it is not part of the saved state."""
        self.wire = WireView()
        """The captured frames. They come from files and not from events, so a reset keeps them."""
        self.reset()

    def moment(self) -> dict[str, int]:
        """Return the shown past moment of a simulated run, as a parameter of an act: the act is
        then done at that moment. Return {} at the present, and for a real cluster.
        """
        at_us = self.cluster.glow.now_us
        if self.simulation is None or self.pause is None or at_us >= self.simulation.at_us:
            return {}
        return {"at_us": at_us}

    def unknown(self) -> str:
        """Return the reason why an empty list may be wrong, or "" if the list is right."""
        if self.reads_rings:
            return "reading the rings of the processes"
        return self.cluster.unknown()

    def unsampled(self) -> str:
        """Return the reason why values from samples are unknown, or "" if they are known.
        O(brokers).

        Timers, waiting operations and the times of requests are in samples only.
        """
        if unknown := self.unknown():
            return unknown
        sampled = any(broker.sampled_us for broker in self.cluster.brokers.by_id.values())
        if self.cluster.facts_only and not sampled:
            return "not known: of this time there are facts only, and no sample"
        return ""

    def verdict(self) -> tuple[str, str]:
        """Return the verdict on the cluster for the top line: its kind and its text.

        The kind is `ok`, `warning` or `error`.
        """
        if self.reads_rings:
            return "warning", f"… {self.unknown()}"
        kind, words = self.cluster.verdict(self.late_us)
        if kind == "ok" and (held := self.transactions.hanging()):
            words = f"! a hanging transaction holds back read_committed readers of {joined(held)}"
            return "warning", words
        return kind, words

    def controller_unknown(self) -> str:
        """Return why the controller's queue, decisions and counts are unknown, or "" if they are
        known.

        Other brokers report which broker is the controller, but only the controller itself reports
        its queue, decisions and counts. O(brokers).
        """
        if self.controller.terms:
            return ""
        broker = self.cluster.controller
        if broker in self.cluster.brokers.guests:
            return "it is a guest: it sends no events"
        if unknown := self.unknown():
            return unknown
        return "its snapshot has not come" if broker >= 0 else ""

    def silence(self) -> str:
        """Return which running brokers have sent no sample for some time, or "" if there are none.

        The current state of these brokers is not known. An answer about them is as old as their
        last samples.
        """
        return self.cluster.silence(self.late_us)

    def unheard(self) -> dict[int, int]:
        """Return the brokers whose samples are old, each with their age in µs. O(brokers).

        Among them are the paused and the dead brokers.
        """
        ages = {broker: self.old_us(broker) for broker in self.cluster.brokers.by_id}
        return {broker: age_us for broker, age_us in ages.items() if age_us}

    def old_us(self, broker: int) -> int:
        """Return the age of a broker's samples in µs, or 0 if they are up to date. O(1)."""
        known = self.cluster.brokers.by_id.get(broker)
        return known.old_us(self.cluster.glow.now_us) if known is not None else 0

    def size_unknown(self, log: LogView) -> bool:
        """Return whether a log's size and end are unknown, because only facts were read for it.

        The creation of a log is a fact, but an append is not. O(1).
        """
        return self.cluster.facts_only and not log.sampled

    def age_of_offsets_us(self, p: PartitionView) -> int:
        """Return the age of a partition's HW and LEO in µs, or 0 if they are up to date. O(1).

        NEVER means that the leader has sent no sample. A fact may have reported an offset, but
        offsets also move without facts.
        """
        leader = self.cluster.brokers.by_id.get(p.leader)
        if leader is None or not leader.sampled_us:
            return NEVER
        return leader.old_us(self.cluster.glow.now_us)

    def state(self) -> dict[str, object]:
        """Return a copy of all reducers' states, for `restore`. O(state)."""
        return copied({name: one for name, one in vars(self).items() if name not in _NO_STATE})

    def restore(self, state: dict[str, object]) -> None:
        """Restore a state that `state` returned. The same state can be restored again."""
        vars(self).update(copied(state))
        self._connect()

    def adopt(self, other: "Model") -> None:
        """Take over the reducers of another model, which is not used any more. O(1)."""
        vars(self).update({n: one for n, one in vars(other).items() if n not in _NO_STATE})
        self._connect()

    def reset(self) -> None:
        """Replace all reducers by new, empty ones."""
        self.cluster = ClusterView(self.name)
        self.wheels = WheelsView()
        self.purgatory = PurgatoryView()
        self.replication = ReplicationView(self.cluster)
        self.logs = LogsView()
        self.moves = MovesView(self.logs)
        self.loads = LoadsView()
        self.learners = LearnersView()
        self.controller = ControllerView()
        self.zookeeper = ZookeeperView()
        self.groups = GroupsView()
        self.clients = ClientsView(self.groups)
        self.requests = RequestsView()
        self.transactions = TransactionsView(self.cluster)
        self.ticker = Ticker()
        self.wire.forget_captures()
        self._connect()

    def apply(self, envelopes: Iterable[Envelope]) -> None:
        """Apply events in their order. Then move the time of all reducers to the latest event."""
        route, latest_us = self._routes.apply, 0
        for envelope in envelopes:
            route(envelope)
            latest_us = max(latest_us, envelope.mono_us)
        self.advance(latest_us)

    def route(self, envelope: Envelope) -> None:
        """Apply one event out of many. The caller calls `advance` after the last one."""
        self._routes.apply(envelope)

    def _connect(self) -> None:
        """Route events to the present reducers."""
        self._routes = Routes(
            (
                (self.cluster, None),  # any event shows that its broker is alive
                (self.wheels, WheelsView.READS),
                (self.purgatory, None),  # any sample shows how old the displayed values are
                (self.replication, ReplicationView.READS),  # after the cluster, from which it reads
                (self.logs, LogsView.READS),
                (self.moves, MovesView.READS),  # after the logs: it reads from them
                (self.loads, LoadsView.READS),
                (self.learners, LearnersView.READS),
                (self.controller, None),  # any fact may be the effect of a controller event
                (self.zookeeper, None),  # any event of a broker may report a znode
                (self.groups, GroupsView.READS),
                (self.clients, ClientsView.READS),
                (self.requests, RequestsView.READS),
                (self.transactions, TransactionsView.READS),  # after the cluster: it reads from it
                (self.wire, WireView.READS),
                (self.ticker, None),
            )
        )

    def names(self) -> set[str]:
        """Return the names of the cluster and of all its topics, groups and transactional ids.

        O(partitions).
        """
        topics = {key.topic for key in self.cluster.partitions.by_key}
        return {self.name, *topics, *self.groups.rebalances.groups, *self.transactions.by_id}

    def advance(self, now_us: int) -> None:
        """Move the time of all reducers forward when no event has come."""
        self.cluster.advance(now_us)
        self.wheels.advance(now_us)
        self.purgatory.advance(now_us)
        self.logs.advance(now_us)
        self.moves.advance(now_us)
        self.controller.advance(now_us)
        self.zookeeper.advance(now_us)
        self.groups.advance(now_us)
        self.clients.advance(now_us)
        self.requests.advance(now_us)
        self.transactions.advance(now_us)
