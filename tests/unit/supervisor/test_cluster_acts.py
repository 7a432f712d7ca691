"""Acts on links: over a relay that is not there, and with a control plane."""

import asyncio
from pathlib import Path

import pytest

from kafka_edu.common.link_faults import WHOLE, Link, LinkFault
from kafka_edu.supervisor.act_table import RELAYED_ACTS
from kafka_edu.supervisor.action_server import ActionRefused
from kafka_edu.supervisor.child_process import ProcessState
from kafka_edu.supervisor.cluster_acts import ClusterActs
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.supervisor.cluster_spec import Wish, plan
from kafka_edu.supervisor.relay import run

CUT = LinkFault(cut=True)


class Acts:
    """The acts on a cluster of one broker, none of whose processes runs."""

    def __init__(self, folder: Path, relay: ProcessState | None) -> None:
        self.changes: list[tuple[Link, LinkFault]] = []
        self.acts = ClusterActs(
            ClusterFolder(folder),
            "",
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
    assert said.startswith(f"the link between broker 0 and {end} passes no relay")
    assert said.endswith("kafka-edu cluster up --with-relays")
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
    acts = ClusterActs(
        ClusterFolder(tmp_path),
        "",
        "",
        {0: (9092,), 1: (9093,), 2: (9094,)},
        lambda _: ProcessState.RUNNING,
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
        "",
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
