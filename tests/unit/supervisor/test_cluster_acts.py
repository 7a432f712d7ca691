"""Acts on a cluster: what they do, and how they are refused, for each state of the processes they
need.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import pytest

from kafka_edu.clients.admin import new_topic
from kafka_edu.clients.admin.admin_call import (
    ANY_BROKER,
    AdminCall,
    Broker,
    Results,
    Route,
    results_of,
)
from kafka_edu.clients.admin.config_calls import ConfigResource
from kafka_edu.clients.admin.topic_calls import NewTopic
from kafka_edu.clients.client_errors import BrokerException, TimeoutException
from kafka_edu.common.errors import Errors
from kafka_edu.common.link_faults import WHOLE, Link, LinkFault
from kafka_edu.common.user_files import write_private_json
from kafka_edu.supervisor import cluster_acts
from kafka_edu.supervisor.act_table import CLUSTER_ACTS, RELAYED_ACTS
from kafka_edu.supervisor.action_server import ActionRefused
from kafka_edu.supervisor.child_process import ProcessState
from kafka_edu.supervisor.cluster_acts import ClusterActs
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.supervisor.cluster_spec import Wish, plan
from kafka_edu.supervisor.relay import run

CUT = LinkFault(cut=True)


class Acts:
    """The acts on a cluster of one broker. None of the cluster's processes runs."""

    def __init__(self, folder: Path, relay: ProcessState | None) -> None:
        self.changes: list[tuple[Link, LinkFault]] = []
        self.acts = ClusterActs(
            ClusterFolder(folder),
            {},
            "",
            {0: (9092,)},
            lambda _: ProcessState.STOPPED,
            lambda link, fault: self.changes.append((link, fault)),
            None if relay is None else lambda: relay,
        )

    def refused(self, name: str) -> str:
        with pytest.raises(ActionRefused) as refused:
            asyncio.run(self.acts.act(name, {"broker": 0, "delay_ms": 5}))
        return str(refused.value)


@pytest.mark.parametrize("name", [act.name for act in RELAYED_ACTS])
def test_without_a_relay_its_acts_are_refused_with_what_to_do(tmp_path: Path, name: str) -> None:
    acts = Acts(tmp_path, None)
    end = "ZooKeeper" if name.endswith("zookeeper") else "its clients"
    said = acts.refused(name)
    assert said.startswith(f"the link between broker 0 and {end} does not go through a relay")
    assert said.endswith(f"kafka-edu cluster up --with-relays --cluster {tmp_path.name}")
    assert acts.changes == []


@pytest.mark.parametrize("name", [act.name for act in RELAYED_ACTS])
def test_after_the_end_of_the_relay_they_are_refused_too(tmp_path: Path, name: str) -> None:
    acts = Acts(tmp_path, ProcessState.STOPPED)
    said = acts.refused(name)
    assert said.startswith("the relay has ended")
    assert f"{tmp_path}/relay.log says why" in said
    assert acts.changes == []


def test_the_end_of_the_relay_heals_its_links_and_no_other(tmp_path: Path) -> None:
    acts = Acts(tmp_path, ProcessState.RUNNING)
    links = {Link(0, side="clients"): CUT, Link(0, 1): CUT, Link(0, side="zookeeper"): CUT}
    acts.acts.links.update(links)
    acts.acts.forget_relayed()
    assert acts.acts.links == {Link(0, 1): CUT}
    assert acts.changes == [(Link(0, side="clients"), WHOLE), (Link(0, side="zookeeper"), WHOLE)]


def test_a_relay_does_what_the_acts_say_and_is_healed_at_the_end(tmp_path: Path) -> None:
    spec = plan("r", Wish(brokers=1, with_relays=True), None, tmp_path)
    folder = ClusterFolder.of("r", tmp_path)
    spec.save(folder)
    acts = Acts(folder.path, ProcessState.RUNNING)
    cut, slow = Link(0, side="zookeeper"), Link(0, side="clients")

    async def story() -> None:
        relay = asyncio.create_task(run(folder))
        assert await acts.acts.act("cut-zookeeper", {"broker": 0}) == (
            "the link between broker 0 and ZooKeeper is cut"
        )
        await acts.acts.act("slow-clients", {"broker": 0, "delay_ms": 7})
        assert acts.acts.links == {cut: CUT, slow: LinkFault(7)}
        assert await acts.acts.act("reset-clients", {"broker": 0}) == (
            "0 connections between broker 0 and its clients ended"
        )
        await acts.acts.heal_relayed()
        relay.cancel()

    asyncio.run(story())
    assert acts.acts.links == {}
    assert acts.changes[-2:] == [(cut, WHOLE), (slow, WHOLE)]


def test_a_hidden_fault_is_told_to_nobody_until_somebody_acts_on_that_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    controls: list[dict[str, object]] = []
    paused: set[int] = set()

    async def control(_: ClusterActs, broker: int, request: dict[str, object]) -> dict[str, object]:
        if broker in paused:
            raise ActionRefused(f"broker {broker} is paused")
        controls.append(request)
        return {}

    monkeypatch.setattr(ClusterActs, "_control", control)
    changes: list[tuple[Link, LinkFault]] = []
    states: dict[int, ProcessState] = {}
    acts = ClusterActs(
        ClusterFolder(tmp_path),
        {},
        "",
        {0: (9092,), 1: (9093,), 2: (9094,)},
        lambda broker: states.get(broker, ProcessState.RUNNING),
        lambda link, fault: changes.append((link, fault)),
        None,
    )
    link, ends = Link(0, 1), {"broker": 1, "other": 0}
    asyncio.run(acts.act("cut-link", {**ends, "hidden": True}))
    assert (acts.links, acts.known_links(), changes) == ({link: CUT}, {}, [])
    assert [request["hidden"] for request in controls] == [True, True]

    asyncio.run(acts.act("slow-link", {"broker": 1, "other": 2, "delay_ms": 5}))
    known = {Link(1, 2): LinkFault(5)}
    assert acts.known_links() == known
    assert changes == list(known.items())

    paused.add(1)
    with pytest.raises(ActionRefused, match="the link between brokers 0 and 1 is as before, beca"):
        asyncio.run(acts.act("heal-link", ends))
    assert controls[-1]["cut"]
    assert controls[-1]["hidden"], "the way back is hidden as well"

    paused.clear()
    asyncio.run(acts.act("heal-link", ends))
    assert acts.links == acts.known_links() == known
    assert changes[-1] == (link, WHOLE)
    asyncio.run(acts.act("cut-link", ends))
    assert acts.known_links()[link] == CUT, "what the learner does is no secret"

    states[0] = ProcessState.PAUSED
    whole = asyncio.run(acts.act("heal-link", {"broker": 0, "other": 2}))
    states.clear()
    asyncio.run(acts.act("cut-link", {"broker": 0, "other": 2, "hidden": True}))
    states[0] = ProcessState.PAUSED
    assert asyncio.run(acts.act("heal-link", {"broker": 0, "other": 2})) == whole, (
        "the answer does not tell a link that was cut from one that was not"
    )


def test_a_link_covers_the_control_plane_whose_port_stands_in_the_brokers_znode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered = {1: {9093, 40_001}}
    controls: list[tuple[int, dict[str, object]]] = []

    async def control(_: ClusterActs, broker: int, request: dict[str, object]) -> dict[str, object]:
        controls.append((broker, request))
        return {"connections": 1}

    monkeypatch.setattr(ClusterActs, "_registered_ports", lambda _, broker: registered[broker])
    monkeypatch.setattr(ClusterActs, "_control", control)
    acts = ClusterActs(
        ClusterFolder(tmp_path),
        {},
        "",
        {0: (9092,), 1: (9093,)},
        lambda _: ProcessState.RUNNING,
        lambda *_: None,
        None,
        with_control_plane=[1],
    )
    ends = {"broker": 0, "other": 1}
    for name in ("cut-link", "reset-link"):
        asyncio.run(acts.act(name, ends))
        assert [(broker, r["ports"]) for broker, r in controls] == [
            (0, [9093, 40_001]),
            (1, [9092]),
        ]
        controls.clear()
    registered.clear()  # its session has expired: healing needs no znode
    asyncio.run(acts.act("heal-link", ends))
    assert [(broker, r["ports"]) for broker, r in controls] == [(0, [9093, 40_001]), (1, [9092])]
    assert acts.links == {}


class Brokers:
    """The acts on brokers 0 and 1. The test sets the brokers' states, and sees the control lines
    that are sent to them.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.states = dict.fromkeys((0, 1), ProcessState.RUNNING)
        self.zookeeper_trouble = ""
        self.controls: list[tuple[int, bool]] = []
        """(broker, whether it cuts) for each line that was sent."""
        self.fails: dict[int, Exception] = {}
        monkeypatch.setattr(ClusterActs, "_control", self._control)
        self.acts = ClusterActs(
            ClusterFolder(folder),
            {0: "127.0.0.1:1", 1: "127.0.0.1:1"},
            "127.0.0.1:1",
            {0: (9092,), 1: (9093,)},
            self.states.__getitem__,
            lambda *_: None,
            lambda: ProcessState.RUNNING,
            zookeeper_trouble=lambda: self.zookeeper_trouble,
        )

    async def _control(self, broker: int, request: dict[str, object]) -> dict[str, object]:
        self.controls.append((broker, request.get("cut") is True))
        if broker in self.fails:
            raise self.fails[broker]
        return {"session_id": 7}

    async def act(self, name: str, **more: object) -> str:
        values: dict[str, object] = {
            "broker": 0,
            "other": 1,
            "topic": "t",
            "partition": "t-0",
            "partitions": "3",
            "replicas": "0,1",
            "setting": "a=b",
            "clients": "x",
            "delay_ms": 5,
        }
        return await self.acts.act(name, values | more)

    async def refused(self, name: str, **more: object) -> str:
        with pytest.raises(ActionRefused) as refused:
            await self.act(name, **more)
        return str(refused.value)

    async def settle(self) -> None:
        """Wait for what was begun in the background."""
        await asyncio.gather(*self.acts._healing)


@pytest.fixture
def brokers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Brokers:
    return Brokers(tmp_path, monkeypatch)


@pytest.mark.parametrize("paused", [0, 1])
def test_a_link_is_healed_while_one_end_is_paused_and_that_end_heals_when_resumed(
    brokers: Brokers, paused: int
) -> None:
    async def story() -> None:
        await brokers.act("cut-link")
        brokers.states[paused] = ProcessState.PAUSED
        brokers.controls.clear()
        assert await brokers.act("heal-link") == (
            "the link between brokers 0 and 1 is whole;"
            f" broker {paused} is paused and heals its end when resumed"
        )
        assert brokers.acts.links == {}
        assert brokers.controls == [(1 - paused, False)]
        brokers.states[paused] = ProcessState.RUNNING
        brokers.acts.resumed(paused)
        await brokers.settle()
        assert brokers.controls[1:] == [(paused, False)]
        brokers.acts.resumed(paused)
        await brokers.settle()
        assert len(brokers.controls) == 2, "once is enough"

    asyncio.run(story())


def test_a_paused_end_that_cannot_heal_yet_heals_at_the_next_resume(brokers: Brokers) -> None:
    async def story() -> None:
        await brokers.act("cut-link")
        brokers.states[1] = ProcessState.PAUSED
        await brokers.act("heal-link")
        brokers.fails[1] = ActionRefused("it is paused again")
        brokers.acts.resumed(1)
        await brokers.settle()
        del brokers.fails[1]
        brokers.controls.clear()
        brokers.acts.resumed(1)
        await brokers.settle()
        assert brokers.controls == [(1, False)]

    asyncio.run(story())


def test_a_paused_end_whose_broker_ends_or_whose_link_is_cut_again_heals_nothing(
    brokers: Brokers,
) -> None:
    async def story() -> None:
        for ends in (True, False):
            brokers.states[1] = ProcessState.RUNNING
            await brokers.act("cut-link")
            brokers.states[1] = ProcessState.PAUSED
            await brokers.act("heal-link")
            brokers.states[1] = ProcessState.RUNNING
            if ends:
                brokers.acts.heal_links_of(1)
            else:
                await brokers.act("cut-link")
            brokers.controls.clear()
            brokers.acts.resumed(1)
            await brokers.settle()
            assert brokers.controls == []

    asyncio.run(story())


def test_the_end_of_a_broker_heals_the_other_end_also_if_that_is_paused(brokers: Brokers) -> None:
    async def story() -> None:
        await brokers.act("cut-link")
        brokers.states.update({0: ProcessState.STOPPED, 1: ProcessState.PAUSED})
        brokers.controls.clear()
        brokers.acts.heal_links_of(0)
        await brokers.settle()
        assert (brokers.acts.links, brokers.controls) == ({}, [])
        brokers.states[1] = ProcessState.RUNNING
        brokers.acts.resumed(1)
        await brokers.settle()
        assert brokers.controls == [(1, False)]

    asyncio.run(story())


@pytest.mark.parametrize("state", [ProcessState.PAUSED, ProcessState.STOPPED])
@pytest.mark.parametrize("name", ["cut-link", "slow-link", "reset-link"])
def test_other_acts_on_a_link_are_refused_before_either_end_changes(
    brokers: Brokers, name: str, state: ProcessState
) -> None:
    async def story() -> None:
        brokers.states[1] = state
        said = await brokers.refused(name)
        todo = "resume" if state is ProcessState.PAUSED else "start"
        assert said.endswith(f"broker 1 is {state}: {todo} it first")
        assert brokers.controls == []

    asyncio.run(story())


BY_ZOOKEEPER = [act.name for act in CLUSTER_ACTS if not act.name.endswith("-link")]


@pytest.mark.parametrize("name", BY_ZOOKEEPER)
def test_without_zookeeper_an_act_that_needs_it_is_refused_at_once(
    brokers: Brokers, name: str
) -> None:
    brokers.zookeeper_trouble = "zookeeper is stopped: start it first"
    assert asyncio.run(brokers.refused(name)) == "zookeeper is stopped: start it first"
    assert brokers.controls == []


@pytest.mark.parametrize("name", ["expire-session", "broker-config"])
def test_a_broker_that_is_cut_off_from_zookeeper_is_not_asked_to_change_anything_there(
    brokers: Brokers, name: str
) -> None:
    brokers.acts.links[Link(0, side="zookeeper")] = CUT
    said = asyncio.run(brokers.refused(name))
    assert said == "the link between broker 0 and ZooKeeper is cut: heal it first"
    assert brokers.controls == []


def test_a_broker_that_is_not_cut_off_is_asked_first(brokers: Brokers) -> None:
    brokers.acts._servers = {0: "a:1", 1: "b:1"}
    assert brokers.acts._reachable() == "a:1,b:1"
    brokers.acts.links[Link(0, side="zookeeper")] = CUT
    assert brokers.acts._reachable() == "b:1,a:1"


class Asked:
    """An admin client that keeps the route of each call. All calls succeed."""

    def __init__(self) -> None:
        self.routes: list[Route] = []

    async def ask(self, call: AdminCall[ConfigResource, None]) -> Results[ConfigResource, None]:
        self.routes += call.routes.values()
        return results_of((item, None) for item in call.routes)


def test_a_setting_of_a_topic_goes_to_a_broker_that_has_zookeeper(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = Asked()

    @contextlib.asynccontextmanager
    async def opened(_: ClusterActs) -> AsyncIterator[Asked]:
        yield admin

    monkeypatch.setattr(ClusterActs, "_admin", opened)

    async def story() -> None:
        assert await brokers.act("topic-config") == "topic t: a is b"
        await brokers.act("broker-config", broker=1)
        brokers.acts.links[Link(0, side="zookeeper")] = CUT
        await brokers.act("topic-config")
        await brokers.act("capture")
        await brokers.act("broker-config", broker=1)

    asyncio.run(story())
    assert admin.routes == [ANY_BROKER, Broker(1), Broker(1), Broker(1), Broker(1)]


@pytest.mark.parametrize("is_known", [False, True], ids=["a new topic", "a topic that exists"])
def test_a_topic_is_created_also_if_the_answer_of_the_controller_was_lost(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    known = {"t"} if is_known else set()
    given: list[object] = []

    class Controller:
        """An admin client whose first new topic is created, although the answer is lost."""

        def __init__(self, settings: Mapping[str, object]) -> None:
            given.append((settings["client.id"], settings["retries"]))

        async def __aenter__(self) -> Self:
            return self

        async def __aexit__(self, *_: object) -> None:
            pass

        async def create_topics(
            self, topics: Sequence[NewTopic], *, timeout_ms: float
        ) -> Results[str, None]:
            given.append((topics[0].name, dict(topics[0].assignments or {})))
            if "t" in known:
                return results_of([("t", BrokerException(Errors.TOPIC_ALREADY_EXISTS))])
            known.add("t")
            return results_of([("t", BrokerException(Errors.NETWORK_EXCEPTION))])

    @contextlib.asynccontextmanager
    async def opened(_: ClusterActs) -> AsyncIterator[None]:
        yield None

    monkeypatch.setattr(ClusterActs, "_admin", opened)
    monkeypatch.setattr(new_topic, "Admin", Controller)
    monkeypatch.setattr(new_topic, "RETRY_PAUSE_S", 0)
    wish = ("t", {0: [1, 0]})
    if is_known:
        assert "TOPIC_ALREADY_EXISTS" in asyncio.run(
            brokers.refused("create-topic", partitions="1:0")
        )
        assert given == [("kafka-edu-supervisor", 0), wish]
    else:
        done = asyncio.run(brokers.act("create-topic", partitions="1:0"))
        assert done == "topic t is created, with 1 partition"
        assert given == [("kafka-edu-supervisor", 0), wish, wish]


def test_an_act_that_no_controller_answers_is_refused_with_the_reason(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def too_late(*_: object) -> str:
        raise TimeoutException("create_topics took longer than its time.")

    monkeypatch.setattr(ClusterActs, "_act", too_late)
    brokers.states[1] = ProcessState.PAUSED
    assert asyncio.run(brokers.refused("create-topic")) == (
        "create_topics took longer than its time: broker 1 is paused: resume it first"
    )


def test_a_broker_that_does_not_run_is_not_configured(brokers: Brokers) -> None:
    brokers.states[0] = ProcessState.PAUSED
    assert asyncio.run(brokers.refused("broker-config")) == "broker 0 is paused: resume it first"


@pytest.mark.parametrize(
    ("name", "partitions", "said"),
    [
        ("create-topic", "0", "'0' is neither a number of partitions nor the brokers of each"),
        ("create-topic", "1;2", "'1;2' is neither a number of partitions nor"),
        ("create-topic", "1:a", "'1:a' is neither a number of partitions nor"),
        ("create-topic", "1,2", "'1,2' is neither a number of partitions nor"),
        ("add-partitions", "-1", "'-1' is neither a number of partitions nor"),
        ("add-partitions", "1:2,2:0", "a topic grows to a number of partitions, such as 6"),
        ("add-partitions", 2, "no broker can be reached"),
        ("create-topic", "1:2,2:0", "no broker can be reached"),
    ],
)
def test_partitions_are_a_number_or_brokers(
    brokers: Brokers, name: str, partitions: str | int, said: str
) -> None:
    assert asyncio.run(brokers.refused(name, partitions=partitions)).startswith(said)


@pytest.mark.parametrize(
    "name",
    [
        "elect-preferred",
        "create-topic",
        "add-partitions",
        "delete-topic",
        "reassign",
        "topic-config",
        "capture",
    ],
)
def test_acts_that_brokers_carry_out_need_one_that_runs(brokers: Brokers, name: str) -> None:
    async def story() -> None:
        assert (await brokers.refused(name)).startswith("no broker can be reached")
        brokers.states.update({0: ProcessState.PAUSED, 1: ProcessState.STOPPED})
        assert await brokers.refused(name) == (
            "no broker runs: broker 0 is paused: resume it first; broker 1 is stopped: start it"
            " first"
        )

    asyncio.run(story())


def test_an_act_that_nobody_answers_ends_early_if_something_does_not_run(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> str:
        await asyncio.Event().wait()
        return ""

    monkeypatch.setattr(cluster_acts, "_PATIENCE_S", 0.01)
    monkeypatch.setattr(ClusterActs, "_act", never)

    async def story() -> None:
        brokers.states[1] = ProcessState.PAUSED
        assert await brokers.refused("elect-preferred") == (
            "nobody answers: broker 1 is paused: resume it first"
        )
        brokers.states[1] = ProcessState.RUNNING
        monkeypatch.setattr(cluster_acts, "_LONG_PATIENCE_S", 0.02)
        assert await brokers.refused("elect-preferred") == (
            "nobody answers: look at the status of the cluster and try again"
        )

    asyncio.run(story())


@pytest.mark.parametrize(
    ("state", "todo"), [(ProcessState.PAUSED, "resume"), (ProcessState.STOPPED, "start")]
)
def test_a_process_that_is_paused_while_it_should_answer_is_not_waited_for(
    tmp_path: Path, state: ProcessState, todo: str
) -> None:
    """The control line has arrived at the process. Then the process is paused, or ends."""
    folder = ClusterFolder(tmp_path)
    folder.broker(0).mkdir(parents=True)

    now = [ProcessState.RUNNING]

    async def story() -> None:
        async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            now[0] = state
            if state is ProcessState.STOPPED:
                writer.close()

        server = await asyncio.start_server(hold, "127.0.0.1")
        port = server.sockets[0].getsockname()[1]
        write_private_json(
            folder.broker_events(0), {"host": "127.0.0.1", "port": port, "token": "x", "pid": 1}
        )
        acts = ClusterActs(folder, {}, "", {0: ()}, lambda _: now[0], lambda *_: None, None)
        with pytest.raises(ActionRefused, match=f"^broker 0 is {state}: {todo} it first$"):
            await acts.act("expire-session", {"broker": 0})
        server.close()

    asyncio.run(story())
