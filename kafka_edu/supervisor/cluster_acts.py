"""Carry out acts on a whole cluster: on its controller, leaders, replicas, settings, sessions and
links.

An act uses the same interface as Kafka's tools: Kafka's protocol for brokers, and ZooKeeper's own
protocol. For sessions and links it sends a control request to the broker's event socket.

An act either works or is refused. The refusal is one line: what was not done, why, and what the
user can do. An act needs some processes and links. If one of these processes is paused or stopped,
or a link is cut, the act is refused at once.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafka_edu.clients.admin import AdminTimeoutError
from kafka_edu.clients.client_errors import TimeoutException
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.link_faults import WHOLE, Link, LinkFault
from kafka_edu.common.python_process import command_line
from kafka_edu.common.words import cause_of, plural
from kafka_edu.supervisor.act_table import RELAYED_ACTS
from kafka_edu.supervisor.action_server import ActionRefused
from kafka_edu.supervisor.child_process import ProcessState, state_trouble
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.trace_client import EventsAddress
from kafka_edu.trace.wire_format import TraceFormatError

if TYPE_CHECKING:
    from kafka_edu.clients.admin.admin import Admin

_CLIENT_ID: Final = "kafka-edu-supervisor"
_CONTROLLER: Final = "/controller"
_PATIENCE_S: Final = 15.0
"""How long one process may take to answer, in seconds. It is also the limit for a whole act while a
process is paused or stopped, or a link is cut. Then this process or link is probably the reason for
a missing answer.
"""
_LONG_PATIENCE_S: Final = 60.0
"""The time limit for an act while all processes run, in seconds."""
_LOOK_AGAIN_S: Final = 0.05
_LOOK_WHETHER_IT_RUNS_S: Final = 0.25
_RELAYED: Final = frozenset(act.name for act in RELAYED_ACTS)
_OF_TOPICS: Final = frozenset(
    {
        "elect-preferred",
        "elect-unclean",
        "create-topic",
        "add-partitions",
        "delete-topic",
        "reassign",
    }
)
"""Acts that an admin client carries out (`topic_acts`)."""
_BY_ZOOKEEPER: Final = frozenset(
    {
        "expire-session",
        "delete-controller",
        "write-controller",
        *_OF_TOPICS,
        "topic-config",
        "broker-config",
        "capture",
    }
)
"""Acts that change something in ZooKeeper. Either the supervisor or a broker makes the change."""
Request = Mapping[str, object]


class ClusterActs:
    """Carries out the cluster acts of `act_table`, and keeps the state of the links."""

    def __init__(
        self,
        folder: ClusterFolder,
        servers: Mapping[int, str],
        zookeeper_connect: str,
        broker_ports: Mapping[int, Sequence[int]],
        state_of: Callable[[int], ProcessState],
        on_link: Callable[[Link, LinkFault], None],
        relay_state: Callable[[], ProcessState] | None,
        with_control_plane: Collection[int] = (),
        zookeeper_trouble: Callable[[], str] = lambda: "",
    ) -> None:
        """`servers` maps each broker's id to its address HOST:PORT. `broker_ports` maps each
        broker's id to the fixed ports of its listeners. The brokers in `with_control_plane` also
        have a control plane listener. A broker chooses the port of this listener at each start.

        `state_of` returns the state of a broker's process. `on_link` is called when a link has
        changed. `relay_state` returns the state of the relay's process, and is None in a cluster
        without relays. `zookeeper_trouble` returns a text about why ZooKeeper cannot answer, or ""
        if it can.
        """
        self._folder = folder
        self._servers = servers
        self._zookeeper_connect = zookeeper_connect
        self._broker_ports = broker_ports
        self._with_control_plane = with_control_plane
        self._chosen_ports: dict[int, set[int]] = {}
        """Broker id → the ports of its control plane for which a fault was set. When a link is
        healed, the faults of these ports are removed too.
        """
        self._state_of = state_of
        self._on_link = on_link
        self._healing: set[asyncio.Task[None]] = set()
        self._relay_state = relay_state
        self._zookeeper_trouble = zookeeper_trouble
        self.links: dict[Link, LinkFault] = {}
        """The links that are slow or cut, with their faults. For a link between two brokers the
        smaller id comes first.
        """
        self.hidden: set[Link] = set()
        """The links in `links` that an exercise hides. The learner must find them."""
        self._paused_ends: dict[tuple[int, int], bool] = {}
        """(broker, other broker) → whether an exercise hides the fault. The link was healed while
        the first broker was paused, so this broker still has the fault of its connections to the
        other broker.
        """

    async def act(self, name: str, request: Request) -> str:
        """Carry out one act. Return a text about what was done. Raises ActionRefused with the
        reason if the act is not possible.
        """
        if name in _BY_ZOOKEEPER and (trouble := self._zookeeper_trouble()):
            raise ActionRefused(trouble)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_LONG_PATIENCE_S) as limit:
                early = loop.call_later(_PATIENCE_S, self._end_early, limit)
                try:
                    return await self._act(name, request)
                finally:
                    early.cancel()
        except TimeoutException as error:
            raise ActionRefused(self._no_answer(error.message.rstrip("."))) from error
        except KafkaException as error:
            raise ActionRefused(str(error)) from error
        except AdminTimeoutError:
            raise ActionRefused(self._no_answer("no broker can be reached")) from None
        except TimeoutError as error:
            raise ActionRefused(self._no_answer(str(error) or "nobody answers")) from None
        except OSError as error:
            raise ActionRefused(
                self._no_answer(f"a broker cannot be reached ({cause_of(error)})")
            ) from error

    def _end_early(self, limit: asyncio.Timeout) -> None:
        """End the act now if a process does not run or a link is cut. The act probably waits for
        this process or link.
        """
        if self._troubles():
            limit.reschedule(asyncio.get_running_loop().time())

    def _troubles(self) -> list[str]:
        """Return a text for each process that does not run, and for each link that is cut."""
        return [
            *(
                self._trouble_of(broker)
                for broker in self._broker_ports
                if self._trouble_of(broker)
            ),
            *filter(None, [self._zookeeper_trouble()]),
            *(
                f"the link {link} is cut: heal it first"
                for link, f in self.known_links().items()
                if f.cut
            ),
        ]

    def _trouble_of(self, broker: int) -> str:
        """Return why a broker cannot answer, and what the user can do. Return "" if it runs."""
        return state_trouble(f"broker {broker}", self._state_of(broker))

    def _no_answer(self, what: str) -> str:
        """Return `what`, and the reason why there was no answer if it is known."""
        troubles = self._troubles()
        why = "; ".join(troubles) if troubles else "look at the status of the cluster and try again"
        return f"{what}: {why}"

    def _runs(self, broker: int) -> None:
        """Raise ActionRefused if the broker does not run."""
        if trouble := self._trouble_of(broker):
            raise ActionRefused(trouble)

    def _reachable(self) -> str:
        """Return the addresses of the running brokers. Brokers that are cut off from ZooKeeper come
        last. Raises ActionRefused if no broker runs.
        """
        return ",".join(self._servers[broker] for broker in self._running())

    def _running(self) -> list[int]:
        """Return the ids of the brokers whose addresses `_reachable` returns, in the same order."""
        running = [b for b in self._servers if self._state_of(b) is ProcessState.RUNNING]
        if not running:
            raise ActionRefused(self._no_answer("no broker runs"))
        return sorted(running, key=self._is_cut_off)

    def _is_cut_off(self, broker: int) -> bool:
        return self.links.get(Link(broker, side="zookeeper"), WHOLE).cut

    def _has_zookeeper(self, broker: int) -> None:
        """Raise ActionRefused if the broker is cut off from ZooKeeper."""
        if self._is_cut_off(broker):
            raise ActionRefused(f"the link {Link(broker, side='zookeeper')} is cut: heal it first")

    async def _act(self, name: str, request: Request) -> str:
        match name:
            case "expire-session":
                broker = self._broker(request, "broker")
                self._has_zookeeper(broker)
                answer = await self._control(broker, {"control": name})
                return f"the session {_session(answer)} of broker {broker} has ended"
            case "delete-controller":
                return await asyncio.to_thread(self._delete_controller)
            case "write-controller":
                broker = self._broker(request, "broker")
                return await asyncio.to_thread(self._write_controller, broker)
            case _ if name in _OF_TOPICS:
                return await self._act_on_topic(name, request)
            case "topic-config":
                topic = _text(request, "topic")
                return await self._configure(2, topic, f"topic {topic}", request)
            case "broker-config":
                broker = self._broker(request, "broker")
                self._runs(broker)
                self._has_zookeeper(broker)
                return await self._configure(4, str(broker), f"broker {broker}", request)
            case "capture":
                return await self._capture(_text(request, "clients"))
            case "reset-link":
                return await self._reset_link(self._between(request))
            case "reset-zookeeper" | "reset-clients":
                return await self._reset_relayed(self._over_relay(name, request))
            case "slow-link" | "cut-link" | "heal-link":
                hidden = request.get("hidden") is True
                return await self._set_link(self._between(request), _fault(name, request), hidden)
            case _ if name in _RELAYED:
                link = self._over_relay(name, request)
                return await self._set_relayed(link, _fault(name, request))
        raise ActionRefused(f"there is no action '{name}'")

    def _broker(self, request: Request, key: str) -> int:
        broker = request.get(key)
        if not isinstance(broker, int) or broker not in self._broker_ports:
            there = ", ".join(map(str, self._broker_ports))
            raise ActionRefused(f"there is no broker {broker}; there are {there}")
        return broker

    def _with_zookeeper(self, work: Callable[["_ZooKeeper"], str]) -> str:
        from kazoo.exceptions import KazooException  # type: ignore[import-untyped]

        try:
            with _ZooKeeper(self._zookeeper_connect) as zookeeper:
                return work(zookeeper)
        except KazooException as error:  # the session or the znode does not exist any more
            raise ActionRefused(
                f"ZooKeeper did not do it ({type(error).__name__}): try again"
            ) from error

    def _delete_controller(self) -> str:
        def work(zookeeper: _ZooKeeper) -> str:
            before = zookeeper.get(_CONTROLLER)
            if before is None:
                raise ActionRefused("there is no /controller now: no broker is the controller")
            zookeeper.delete(_CONTROLLER)
            return f"/controller is deleted; it held {before.decode('utf-8', 'replace')}"

        return self._with_zookeeper(work)

    def _write_controller(self, broker: int) -> str:
        def work(zookeeper: _ZooKeeper) -> str:
            if zookeeper.get(_CONTROLLER) is None:
                raise ActionRefused("there is no /controller now: no broker is the controller")
            data = json.dumps({"version": 1, "brokerid": broker, "timestamp": "0"}).encode()
            zookeeper.set(_CONTROLLER, data)
            return f"/controller names broker {broker} now"

        return self._with_zookeeper(work)

    async def _act_on_topic(self, name: str, request: Request) -> str:
        from kafka_edu.clients.admin.new_topic import order_topic
        from kafka_edu.clients.admin.topic_acts import ActWordsError, TopicActs

        acts = TopicActs(
            self._admin, lambda topic: order_topic(self._reachable(), topic, _CLIENT_ID)
        )
        try:
            return await acts.act(name, request)
        except ActWordsError as error:
            raise ActionRefused(str(error)) from error

    def _admin(self) -> AbstractAsyncContextManager["Admin"]:
        """Connect an admin client. The block raises AdminTimeoutError if no broker answers."""
        from kafka_edu.clients.admin.first_contact import reached_admin

        return reached_admin(self._reachable(), _CLIENT_ID)

    async def _configure(self, kind: int, name: str, title: str, request: Request) -> str:
        """Change one setting of a topic (kind 2) or a broker (kind 4; no name: of all brokers)."""
        from kafka_edu.clients.admin.admin_call import ANY_BROKER, Broker
        from kafka_edu.clients.admin.config_calls import (
            AlterConfigOp,
            ConfigResource,
            incremental_alter_configs,
        )
        from kafka_edu.protocol.messages.describe_configs import ResourceType
        from kafka_edu.protocol.messages.incremental_alter_configs import OpType

        key, equals, value = _text(request, "setting").partition("=")
        if not equals or not key:
            raise ActionRefused("a setting is KEY=VALUE; KEY= removes the key")
        resource = ConfigResource(ResourceType(kind), name)
        change = AlterConfigOp(key, OpType.SET if value else OpType.DELETE, value or None)
        call = incremental_alter_configs({resource: [change]}, False)
        running = self._running()
        if call.routes[resource] is ANY_BROKER and self._is_cut_off(running[-1]):
            call = replace(call, routes={resource: Broker(running[0])})
        async with self._admin() as admin:
            (await admin.ask(call)).all()
        return f"{title}: {key} is {value}" if value else f"{title}: {key} is removed"

    async def _capture(self, clients: str) -> str:
        """Set edu.capture.clients for all brokers."""
        wanted = "" if clients == "off" else clients
        setting = {"setting": f"edu.capture.clients={wanted}"}
        await self._configure(4, "", "all brokers", setting)
        if wanted:
            return f"all brokers capture the frames of {wanted}"
        return "no broker captures frames any more; the files stay"

    def _between(self, request: Request) -> Link:
        """Return the link between two brokers, the smaller id first."""
        a, b = sorted((self._broker(request, "broker"), self._broker(request, "other")))
        if a == b:
            raise ActionRefused("a link has two ends; both name the same broker")
        return Link(a, b)

    async def _reset_link(self, link: Link) -> str:
        """Reset a link: let each of the two brokers close the connections that it has opened to the
        other.
        """
        self._runs(link.broker)
        self._runs(link.other)
        closed = 0
        for broker, other in ((link.broker, link.other), (link.other, link.broker)):
            ports = await self._ports_of(other)
            answer = await self._control(broker, {"control": "reset-link", "ports": ports})
            closed += _connections(answer)
        return f"{plural(closed, 'connection')} {link} ended with an error"

    async def _set_link(self, link: Link, fault: LinkFault, hidden: bool) -> str:
        if fault == WHOLE:
            return await self._heal_link(link, hidden)
        a, b = link.broker, link.other
        before = self.links.get(link, WHOLE)
        for broker in (a, b):
            if trouble := self._trouble_of(broker):
                raise ActionRefused(self._unchanged(link, broker, trouble))
        await self._set_fault(a, b, fault, hidden)
        try:
            await self._set_fault(b, a, fault, hidden)
        except (ActionRefused, OSError) as error:
            await self._set_fault(a, b, before, hidden or link in self.hidden)
            raise ActionRefused(self._unchanged(link, b, error)) from error
        return self._record(link, fault, hidden)

    def _unchanged(self, link: Link, broker: int, why: object) -> str:
        before = self.links.get(link, WHOLE)
        state = "as before" if link in self.hidden else f"still {before}"
        return (
            f"the link {link} is {state}, because broker {broker} could not change its end: {why}"
        )

    async def _heal_link(self, link: Link, hidden: bool) -> str:
        """Heal a link at both brokers. A stopped broker has lost its faults. The fault of a paused
        broker is removed when the broker is resumed. Until then the broker sends nothing anyway.
        """
        before = self.links.get(link, WHOLE)
        healed: list[tuple[int, int]] = []
        paused: list[tuple[int, int]] = []
        for broker, other in ((link.broker, link.other), (link.other, link.broker)):
            match self._state_of(broker):
                case ProcessState.RUNNING:
                    try:
                        await self._set_fault(broker, other, WHOLE, hidden)
                    except (ActionRefused, OSError) as error:
                        for at, to in healed:
                            await self._set_fault(at, to, before, hidden or link in self.hidden)
                        raise ActionRefused(self._unchanged(link, broker, error)) from error
                    healed.append((broker, other))
                case ProcessState.PAUSED if link in self.links:
                    paused.append((broker, other))
        was_hidden = link in self.hidden
        said = self._record(link, WHOLE, hidden)
        self._paused_ends.update(dict.fromkeys(paused, hidden))
        if was_hidden:
            return said  # as for a link without a fault
        later = [f"broker {end[0]} is paused and heals its end when resumed" for end in paused]
        return "; ".join([said, *later])

    def resumed(self, broker: int) -> None:
        """Remove the faults that this broker could not remove while it was paused. This happens in
        the background.
        """
        for end in self._paused_ends:
            if end[0] == broker:
                self._in_background(self._heal_paused_end(*end))

    async def _heal_paused_end(self, broker: int, other: int) -> None:
        a, b = sorted((broker, other))
        hidden = self._paused_ends.get((broker, other))
        if hidden is None:
            return
        # The broker was paused again, or has ended.
        with contextlib.suppress(ActionRefused, OSError):
            if Link(a, b) not in self.links:
                await self._set_fault(broker, other, WHOLE, hidden)
            self._paused_ends.pop((broker, other), None)

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._healing.add(task)
        task.add_done_callback(self._healing.discard)

    def _record(self, link: Link, fault: LinkFault, hidden: bool = False) -> str:
        """Store the state of a link. Return the state as text."""
        if fault == WHOLE:
            self.links.pop(link, None)
        else:
            self.links[link] = fault
        if hidden and fault != WHOLE:
            self.hidden.add(link)
        else:
            self.hidden.discard(link)
        if not hidden:
            self._on_link(link, fault)
        return f"the link {link} is {fault}"

    def known_links(self) -> dict[Link, LinkFault]:
        """Return the links that are slow or cut and that no exercise hides, with their faults."""
        return {link: fault for link, fault in self.links.items() if link not in self.hidden}

    async def _set_fault(
        self, broker: int, other: int, fault: LinkFault, hidden: bool = False
    ) -> None:
        """Set the fault of the connections that `broker` opens to `other`. If the fault is hidden,
        the broker emits no event about it.
        """
        request: dict[str, object] = {
            "control": "link",
            "ports": await self._ports_of(other, heal=fault == WHOLE),
            "delay_ms": fault.delay_ms,
            "cut": fault.cut,
            "hidden": hidden,
        }
        await self._control(broker, request)

    async def _ports_of(self, broker: int, heal: bool = False) -> list[int]:
        """Return the ports of all listeners of a broker. With `heal`, return all its ports for
        which a fault may be set.

        The control plane has a new port at each start. This port is read from the broker's znode.
        Raises ActionRefused, OSError.
        """
        ports = set(self._broker_ports[broker])
        chosen = self._chosen_ports.setdefault(broker, set())
        if heal:
            return sorted(ports | chosen)
        if broker in self._with_control_plane:
            found = await asyncio.to_thread(self._registered_ports, broker)
            chosen |= found - ports
            ports |= found
        return sorted(ports)

    def _registered_ports(self, broker: int) -> set[int]:
        """Return the ports of the listeners in the broker's znode."""
        with _ZooKeeper(self._zookeeper_connect) as zookeeper:
            data = zookeeper.get(f"/brokers/ids/{broker}")
        if data is None:
            raise ActionRefused(
                f"broker {broker} is not registered in ZooKeeper now, so the port of its control"
                " plane is not known: try again when it is back"
            )
        end_points = json.loads(data)["endpoints"]
        return {int(end_point.rpartition(":")[2]) for end_point in end_points}

    def heal_links_of(self, broker: int) -> None:
        """Heal the links of a broker that has ended, because it has no faults after its next start.
        The brokers at the other ends still have these faults. The faults are removed there in the
        background.
        """
        for end in [end for end in self._paused_ends if end[0] == broker]:
            del self._paused_ends[end]
        for link in tuple(self.links):
            if not link.side and broker in (link.broker, link.other):
                self._in_background(self._heal_other_end(link, broker))

    async def _heal_other_end(self, link: Link, ended: int) -> None:
        other = link.other if link.broker == ended else link.broker
        hidden = link in self.hidden
        match self._state_of(other):
            case ProcessState.RUNNING:
                try:
                    await self._set_fault(other, ended, WHOLE, hidden)
                except (ActionRefused, OSError):
                    if self._state_of(other) is ProcessState.RUNNING:
                        return  # the other end still has the fault, so the link stays in `links`
            case ProcessState.PAUSED:
                self._paused_ends[other, ended] = hidden
        if link in self.links:
            self._record(link, WHOLE, hidden)

    def _over_relay(self, name: str, request: Request) -> Link:
        """Return the link that an act over the relay changes. Raises ActionRefused if there is no
        relay.
        """
        link = Link(self._broker(request, "broker"), side=name.partition("-")[2])
        if self._relay_state is None:
            raise ActionRefused(
                f"the link {link} does not go through a relay, so its bytes cannot be delayed or"
                " stopped: take"
                f" the cluster down and start it with"
                f" {command_line('cluster up --with-relays', self._folder.name)}"
            )
        if self._relay_state() is ProcessState.STOPPED:
            raise ActionRefused(
                f"the relay has ended, so nothing passes {link}; {self._folder.relay_log} says why:"
                " take the cluster down and start it again"
            )
        return link

    async def _set_relayed(self, link: Link, fault: LinkFault) -> str:
        fields = {"delay_ms": fault.delay_ms, "cut": fault.cut}
        await self._control_relay("route", link, fields)
        return self._record(link, fault)

    async def _reset_relayed(self, link: Link) -> str:
        answer = await self._control_relay("reset-route", link, {})
        return f"{plural(_connections(answer), 'connection')} {link} ended"

    async def heal_relayed(self) -> None:
        """Heal all links over the relay. Links for which the relay does not answer stay as they
        are.
        """
        for link in tuple(self.links):
            if link.side:
                with contextlib.suppress(ActionRefused, OSError):
                    await self._set_relayed(link, WHOLE)

    def forget_relayed(self) -> None:
        """Mark the links over the relay as healed. The relay has ended, and the next relay starts
        without faults.
        """
        for link in tuple(self.links):
            if link.side:
                self._record(link, WHOLE)

    async def _control(self, broker: int, request: dict[str, object]) -> dict[str, object]:
        return await _control(
            f"broker {broker}",
            self._folder.broker_events(broker),
            lambda: self._state_of(broker),
            request,
        )

    async def _control_relay(
        self, control: str, link: Link, fields: Mapping[str, object]
    ) -> dict[str, object]:
        assert self._relay_state is not None
        request = {"control": control, "prefix": f"{link.side}-{link.broker}", **fields}
        events = self._folder.relay_events
        return await _control("the relay", events, self._relay_state, request)


class _ZooKeeper:
    """A short session with ZooKeeper through kazoo. Its calls block."""

    def __init__(self, connect: str) -> None:
        from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types

        self._client = KazooClient(connect, timeout=6.0)

    def __enter__(self) -> "_ZooKeeper":
        from kazoo.handlers.threading import KazooTimeoutError  # type: ignore[import-untyped]

        try:
            self._client.start(timeout=_PATIENCE_S)
        except KazooTimeoutError as error:
            self.__exit__()
            raise TimeoutError("ZooKeeper does not answer") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._client.stop()
        self._client.close()

    def get(self, path: str) -> bytes | None:
        from kazoo.exceptions import NoNodeError

        try:
            data: bytes = self._client.get(path)[0]
        except NoNodeError:
            return None
        return data

    def set(self, path: str, data: bytes) -> None:
        self._client.set(path, data)

    def delete(self, path: str) -> None:
        self._client.delete(path)


def _session(answer: Mapping[str, object]) -> str:
    """Return the session id in the form in which ZooKeeper and the dashboard show it."""
    session_id = answer.get("session_id")
    return f"{session_id:#x}" if isinstance(session_id, int) else "?"


async def _control(
    process: str,
    events: Path,
    state_of: Callable[[], ProcessState],
    request: dict[str, object],
) -> dict[str, object]:
    """Send a control request to the event socket of a process, and return the answer. Raises
    ActionRefused, OSError.
    """
    asking = asyncio.ensure_future(_ask(process, events, state_of, request))
    end = asyncio.get_running_loop().time() + _PATIENCE_S
    try:
        while not asking.done():
            if trouble := state_trouble(process, state_of()):
                raise ActionRefused(trouble)
            if asyncio.get_running_loop().time() > end:
                raise ActionRefused(
                    f"{process} does not answer on its event socket within {_PATIENCE_S:g} s: its"
                    " log may say why"
                )
            await asyncio.wait([asking], timeout=_LOOK_WHETHER_IT_RUNS_S)
    finally:
        asking.cancel()
    answer = asking.result()
    if not answer.get("ok"):
        if trouble := state_trouble(process, state_of()):
            raise ActionRefused(trouble)
        raise ActionRefused(str(answer.get("error", f"{process} gave no answer")))
    return answer


async def _ask(
    process: str,
    events: Path,
    state_of: Callable[[], ProcessState],
    request: dict[str, object],
) -> dict[str, object]:
    address = await _events_address(process, events, state_of)
    reader, writer = await asyncio.open_connection(address.host, address.port)
    try:
        writer.write(json.dumps({"token": address.token, **request}).encode() + b"\n")
        await writer.drain()
        return dict(json.loads(await reader.readline() or b"{}"))
    except ValueError as error:
        raise ActionRefused(f"{process} gave no answer") from error
    finally:
        writer.close()


async def _events_address(
    process: str, events: Path, state_of: Callable[[], ProcessState]
) -> EventsAddress:
    """Return the address of a process's event socket. A process writes the address to a file a
    moment after its start, so this function waits for the file. The caller must set a time limit.
    """
    while not (trouble := state_trouble(process, state_of())):
        with contextlib.suppress(OSError, TraceFormatError):
            return EventsAddress.read(str(events))
        await asyncio.sleep(_LOOK_AGAIN_S)
    raise ActionRefused(trouble)


def _connections(answer: Mapping[str, object]) -> int:
    match answer.get("connections"):
        case int(connections):
            return connections
    return 0


def _fault(name: str, request: Request) -> LinkFault:
    """Return the new state of a link after an act `slow-…`, `cut-…` or `heal-…`."""
    match name.partition("-")[0]:
        case "slow":
            delay_ms = request.get("delay_ms")
            if not isinstance(delay_ms, int) or not 0 < delay_ms <= 60_000:
                raise ActionRefused("delay_ms is a number of ms, at least 1 and at most 60,000")
            return LinkFault(delay_ms)
        case "cut":
            return LinkFault(cut=True)
    return WHOLE


def _text(request: Request, key: str) -> str:
    value = request.get(key)
    if not isinstance(value, str) or not value:
        raise ActionRefused(f"{key} is missing")
    return value
