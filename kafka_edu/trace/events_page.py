"""Write docs/events.md from the registry: every event with its fields, level and join keys.

Run `python -m kafka_edu.trace.events_page docs/events.md` to write the page. A test fails when the
page is out of date.
"""

import inspect
import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import get_type_hints

import kafka_edu.trace.events.all  # noqa: F401 - fills the registry of event types
from kafka_edu.trace.event import EVENT_TYPES, Event, EventType, value_types

HEAD = """# Events

Everything that the dashboard, the graders and the figures know comes from events. The page is
generated from the classes in `kafka_edu/trace/events/` by `python -m kafka_edu.trace.events_page
docs/events.md`.

A **fact** says that a state changed. Each process numbers its facts from 1, and a fact names the
fact that caused it. A **gauge** is a sample, taken ten times a second while somebody watches. It is
sent at once if the thing has changed, twice a second if it has not, and once a second to
subscribers that look at something else. A **snapshot** event holds the present state and is sent to
a new subscriber. A gauge and a snapshot of the same thing share one **value** type. A gauge begins
with the fields that name what is sampled: "one for each" says which. A reader that is late keeps
the newest sample of each thing.

Facts of level `state` are always emitted. Facts of level `hops` (the hops of a request, and what a
broker does every few seconds) and `all` (each timer task) are emitted while a subscriber wants
them, and only such subscribers get them. At level `state` the hops of three kinds of requests are
facts too: those of the control plane, those that waited longer than 100 ms, and those that another
fact completes.

Each event has a **source**, a kind and an id: `["broker", 1]`, `["zookeeper", 2]`,
`["supervisor", 0]`, `["client", 0]` or `["proxy", 0]`. On a socket and in a recording an event is a
line `[source, number, cause, wall ms, monotonic µs, name, [fields]]`. The first line names the
format, 2, and all fields. A program that reads format 2 refuses a recording of format 1: record
again, or replay it with the version of kafka-edu that made it.

The **join** fields link events of different processes: [Chains of causes](chains.md) says how.
"""


def _types(cls: type[Event]) -> dict[str, str]:
    """Return the type of each field as text. For the type of a value within events, the module's
    name is left out.
    """
    return {
        name: re.sub(r"kafka_edu\.(\w+\.)+", "", inspect.formatannotation(annotation))
        for name, annotation in get_type_hints(cls).items()
    }


def filled(text: str) -> str:
    """Return the text as one paragraph, wrapped to the width of the page."""
    return textwrap.fill(
        " ".join(text.split()), 100, break_long_words=False, break_on_hyphens=False
    )


def _quoted(fields: Iterable[str]) -> str:
    return ", ".join(f"`{field}`" for field in fields)


def page() -> str:
    """Return the text of the whole page docs/events.md."""
    areas: dict[str, list[tuple[str, EventType]]] = {}
    for name, known in sorted(EVENT_TYPES.items()):
        if known.cls.__module__.startswith("kafka_edu."):
            areas.setdefault(known.area, []).append((name, known))
    values: dict[str, dict[str, type[Event]]] = {}
    for known in EVENT_TYPES.values():
        for value in value_types(known.cls)[1:]:
            values.setdefault(value.__module__.rsplit(".", 1)[-1], {})[value.__name__] = value
    lines = [HEAD]
    for area in sorted(areas):
        module = sys.modules[f"kafka_edu.trace.events.{area}"]
        lines.append(f"## {area}\n\n{filled(module.__doc__ or '')}\n")
        for name, known in areas[area]:
            types = _types(known.cls)
            kind = (
                f"{known.kind.value}, {known.level.value}"
                if known.kind.value == "fact"
                else known.kind.value
            )
            lines.append(
                f"### {name}\n\n*{kind}*"
                + (f", joined by {_quoted(known.joins)}" if known.joins else "")
                + (f", one for each {_quoted(known.thing)}" if known.thing else "")
                + "\n"
            )
            lines.append(f"{inspect.cleandoc(known.cls.__doc__ or '')}\n")
            lines.append("\n".join(f"- `{field}`: {types[field]}" for field in known.fields) + "\n")
        for name, value in sorted(values.get(area, {}).items()):
            lines.append(f"### {name}\n\n*value within events*\n")
            lines.append(f"{inspect.cleandoc(value.__doc__ or '')}\n")
            fields = _types(value).items()
            lines.append("\n".join(f"- `{field}`: {of}" for field, of in fields) + "\n")
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    Path(argv[0]).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
