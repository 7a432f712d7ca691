"""A link to a moment of a run: what is in the fragment of the page's address.

With the same seed and the same acts, a run happens again in the same way. So a link names the
scenario or the chapter, the seed, the moment in µs of virtual time, and the acts that the reader
made before it. In a chapter it also has the place in the script: the step, the answers, and the
names that are bound.
"""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlencode

from kafka_edu.instruments.presenter.bookmark import place_of
from kafka_edu.instruments.presenter.presentation import SavedPlace
from kafka_edu.sim.scenario.acts import Act
from kafka_edu.sim.scenario.language import Scenario, ScenarioError, parse

MOST_PLACE: Final = 100_000
"""The largest place in a script, in bytes."""
LATEST_US: Final = 24 * 3_600_000_000
SHOWN_US: Final = 5_000_000
"""The events of this time before the moment of a link are shown."""


class LinkError(ValueError):
    """A link that cannot be opened. The text says what is wrong with it."""


class Link(NamedTuple):
    """The parts of a link. A part that the link does not have is empty."""

    scenario: str = "first"
    seed: int = 1
    chapter: str = ""
    step: int = 0
    """The number of the step from which the chapter is taken, from 1. 0: from its start."""
    fact: str = ""
    """The name that the script binds at the wanted moment."""
    at_us: int | None = None
    acts: tuple[str, ...] = ()
    place: SavedPlace | None = None

    def fragment(self, version: str) -> str:
        """Return the fragment of the address. `version` is the version of the code."""
        parts: dict[str, str | int] = {"scenario": self.scenario}
        if self.chapter:
            parts = {"chapter": self.chapter, "step": self.step}
        if self.seed != 1 or not self.chapter:
            parts["seed"] = self.seed
        if self.at_us is not None:
            parts["at"] = self.at_us
        if self.acts:
            parts["acts"] = ";".join(self.acts)
        if self.place is not None:
            parts["place"] = _packed(self.place)
        return urlencode({**parts, "v": version})


def read(given: Mapping[str, str]) -> Link:
    """Return what the parts of a fragment name. Raises LinkError."""
    chapter = given.get("chapter", "")
    at_us = _number(given, "at", LATEST_US) if "at" in given else None
    acts = tuple(filter(None, given.get("acts", "").split(";")))
    if at_us is None and acts:
        raise LinkError("the link has acts, but no moment (at=…)")
    if chapter and at_us is not None and "place" not in given:
        raise LinkError("the link has a moment, but no place in the chapter (place=…)")
    return Link(
        given.get("scenario", Link().scenario),
        _number(given, "seed", 10**15) if "seed" in given else 1,
        chapter,
        _number(given, "step", 1_000) if "step" in given else 0,
        given.get("fact", ""),
        at_us,
        acts,
        _place(given["place"]) if at_us is not None and "place" in given else None,
    )


def acts_of(link: Link, scenario: Scenario) -> tuple[Act, ...]:
    """Return the acts of a link, if this scenario can have them. Raises LinkError."""
    if any(len(act.splitlines()) != 1 for act in link.acts):
        raise LinkError("an act of the link is wrong: it has more than one line")
    text = scenario.text() + "".join(f"> {act}\n" for act in link.acts)
    try:
        acts = parse(text, "link").acts
    except ScenarioError as error:
        raise LinkError(f"an act of the link is wrong: {error}") from None
    if len(acts) != len(scenario.acts) + len(link.acts):
        raise LinkError("the acts of the link are no acts")
    return acts[len(scenario.acts) :]


def acts_in_words(acts: Sequence[Act]) -> tuple[str, ...]:
    """Return acts as a link has them."""
    return tuple(map(str, acts))


def _number(given: Mapping[str, str], name: str, most: int) -> int:
    words = given[name]
    if not (words.isascii() and words.isdecimal() and len(words) < 18 and int(words) <= most):
        raise LinkError(f"the link's {name} '{words[:20]}' is no whole number up to {most:,}")
    return int(words)


def _packed(place: SavedPlace) -> str:
    text = json.dumps(place._asdict(), separators=(",", ":"))
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def _place(packed: str) -> SavedPlace:
    try:
        data = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
        text = zlib.decompressobj().decompress(data, MOST_PLACE)
        return place_of(json.loads(text))
    except (
        *(ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError),
        zlib.error,
    ) as error:
        raise LinkError("the link is not complete: its place cannot be read. Copy it again.") from (
            error
        )
