"""Chapter 08's pictures agree with the chapter's page. The proxy's own classes compute them."""

import pytest

from chapters.ch08_metadata_proxy.jobs import JOBS, NEEDS
from chapters.ch08_metadata_proxy.pictures import (
    CLIENTS,
    DEAD,
    DOWN_AFTER,
    DRAWINGS,
    GONE,
    REFUSED,
    UP_AFTER,
    VERSIONS,
    answer_size,
    changes,
    figures,
    led,
    metadata,
    moved_by_modulo,
    request_size,
    states,
)

SAID = {
    "three-steps": {"asked": "29", "told": "262"},
    "routes": {"moved": "5", "clients": "12", "modulo": "8"},
    "health": {"changes": "3", "flaps": "5"},
    "versions": {"v0": "168", "v8": "261"},
}


@pytest.mark.parametrize("name", SAID)
def test_a_picture_binds_what_the_page_says(name: str) -> None:
    names = DRAWINGS[name]().names
    assert {key: names[key] for key in SAID[name]} == SAID[name]


def test_only_the_clients_of_the_lost_cluster_move() -> None:
    for one in led():
        assert (one.before == GONE) == (one.before != one.after)
    assert next(one for one in led() if one.client.startswith("billing")).after == REFUSED
    assert sum(one.before == GONE for one in led()) < moved_by_modulo() < len(CLIENTS)


def test_hysteresis_needs_looks_in_a_row() -> None:
    assert changes(DOWN_AFTER, UP_AFTER) < changes(1, 1)
    assert states(1, 1).count("Down") > states(DOWN_AFTER, UP_AFTER).count("Down")


def test_each_version_has_its_own_bytes() -> None:
    live = tuple(one for one in range(3) if one != DEAD)
    sizes = [answer_size(version, live) for version in VERSIONS]
    assert sizes == sorted(sizes)
    assert answer_size(0, live) < answer_size(1, live)
    assert request_size() < answer_size()
    assert DEAD not in {one.node_id for one in metadata(live).brokers}


def test_its_jobs_need_nothing_more() -> None:
    assert set(JOBS) == {"boot", "stop", "wrong"}
    assert NEEDS == ()


def test_figures_are_not_empty() -> None:
    assert all(len(figure.source) > 300 for figure in figures().values())
