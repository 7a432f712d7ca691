"""Links to a moment of a run: written, read back, and refused with a sentence."""

import base64
import json
import math
import zlib
from urllib.parse import parse_qsl

import pytest

from kafka_edu.instruments.presenter.presentation import SavedPlace
from kafka_edu.sim.scenario.language import parse
from page.link import Link, LinkError, acts_of, read

SCENARIO = "> cluster brokers=3\n> run 60s\n> settle 5s\n"
PLACE = SavedPlace(2, "watching", {"victim": "1"}, {1: 3}, (True, False), {1: 8_000_000}, 9, {1: 2})
LINKS = [
    Link(),
    Link("first", 7, at_us=12_000_001, acts=("at 3.412s kill 2", "at 5s start 2")),
    Link(chapter="02", step=5),
    Link(chapter="02", seed=7, step=5),
    Link(
        chapter="00",
        step=3,
        at_us=12_000_001,
        acts=("at 11ms load topic=web rate=200 acks=all",),
        place=PLACE,
    ),
]


ENDLESS = json.dumps(PLACE._asdict() | {"step": math.inf})


def packed(text: str) -> str:
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def parts(link: Link) -> dict[str, str]:
    return dict(parse_qsl(link.fragment("abcd")))


@pytest.mark.parametrize("link", LINKS)
def test_a_link_is_read_as_it_was_written(link: Link) -> None:
    assert parts(link)["v"] == "abcd"
    assert read(parts(link)) == link


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"seed": "x"}, "the link's seed 'x' is no whole number"),
        ({"at": "-1"}, "the link's at '-1' is no whole number"),
        ({"at": "9" * 15}, "is no whole number up to 86,400,000,000"),
        ({"acts": "at 1s kill 1"}, "acts, but no moment"),
        ({"chapter": "00", "at": "5"}, "a moment, but no place in the chapter"),
        ({"chapter": "00", "at": "5", "place": "eJz"}, "the link is not complete"),
        ({"chapter": "00", "at": "5", "place": packed("[" * 90_000)}, "the link is not complete"),
        ({"chapter": "00", "at": "5", "place": packed(ENDLESS)}, "the link is not complete"),
    ],
)
def test_a_wrong_link_is_refused_with_its_reason(wrong: dict[str, str], why: str) -> None:
    with pytest.raises(LinkError, match=why):
        read(wrong)


def test_the_acts_of_a_link_are_those_of_its_scenario() -> None:
    link = Link(at_us=9, acts=("at 3.412s kill 2", "at 5s start 2"))
    assert [str(act) for act in acts_of(link, parse(SCENARIO, "short"))] == list(link.acts)
    for wrong in ("at 3s kill 9", "at 3s explode 1", "topic a partitions=1 rf=1", "at 1s\nkill"):
        with pytest.raises(LinkError, match="of the link"):
            acts_of(Link(at_us=9, acts=(wrong,)), parse(SCENARIO, "short"))
