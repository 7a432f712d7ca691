"""Everything that `?` and `o` name exists: each class in its module, each event registered."""

import ast

import pytest

from kafka_edu.trace.event import EVENT_TYPES, meaning
from tui.subjects import ALL_SUBJECTS, Source

SOURCES = sorted({source for subject in ALL_SUBJECTS for source in subject.sources})


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_the_class_stands_where_it_is_said_to(source: Source) -> None:
    tree = ast.parse(source.path().read_text(encoding="utf-8"))
    lines = {node.name: node.lineno for node in tree.body if isinstance(node, ast.ClassDef)}
    assert source.line() == lines[source.cls]


def test_the_events_are_events() -> None:
    for subject in ALL_SUBJECTS:
        assert subject.events
        assert all(EVENT_TYPES[cls.__name__].cls is cls for cls in subject.events)


def test_the_meaning_of_an_event_is_whole_sentences_in_one_line() -> None:
    for known in EVENT_TYPES.values():
        if known.cls.__module__.startswith("kafka_edu."):
            words = meaning(known.cls)
            assert words.endswith("."), known.cls
            assert "\n" not in words, known.cls
