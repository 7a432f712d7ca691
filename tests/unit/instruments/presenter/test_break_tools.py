"""Commands of a script with the names of now."""

from kafka_edu.common.python_process import command_line
from kafka_edu.instruments.presenter.break_tools import Place, as_lines, ideas
from kafka_edu.instruments.presenter.presentation import Knows
from kafka_edu.instruments.presenter.script import Break

KNOWS = Knows(2, {"web-0": (1, (1, 0, 2)), "web-1": (-1, (0,))})
PLACE = Place("chapter-00", "127.0.0.1:1,127.0.0.1:2", "127.0.0.1:3/x")


def commands(*words: str, place: Place = PLACE) -> list[str]:
    [idea] = ideas((Break("Try it.", words),), {"victim": "7"}, KNOWS, place)
    return [command.removeprefix(command_line("")) for command in idea.commands]


def test_roles_are_brokers_of_now_and_the_cluster_is_named() -> None:
    assert commands(
        "cluster pause {follower of web-0}", "cluster kill {controller}", "cluster start {victim}"
    ) == [
        "cluster pause 0 --cluster chapter-00",
        "cluster kill 2 --cluster chapter-00",
        "cluster start 7 --cluster chapter-00",
    ]


def test_tools_that_take_an_address_get_the_one_of_this_cluster() -> None:
    assert commands(
        "topics --bootstrap-server {servers} --list", "zookeeper-shell {zookeeper}"
    ) == [
        "topics --bootstrap-server 127.0.0.1:1,127.0.0.1:2 --list",
        "zookeeper-shell 127.0.0.1:3/x",
    ]


def test_who_is_nobody_now_stays_open_and_a_note_stays_behind_the_command() -> None:
    assert commands("cluster kill {leader of web-1}", "load --rate 5  # Ctrl-C ends it") == [
        "cluster kill ID --cluster chapter-00",
        "load --rate 5 --cluster chapter-00  # Ctrl-C ends it",
    ]
    assert commands("why", place=PLACE._replace(name="default")) == ["why"]


def test_the_lines_have_a_number_for_each_idea() -> None:
    found = ideas((Break("One.", ("why",)), Break("Two.", ("why",))), {}, KNOWS, PLACE)
    assert as_lines(found) == [
        "1 One.",
        f"    {command_line('why --cluster chapter-00')}",
        "2 Two.",
        f"    {command_line('why --cluster chapter-00')}",
    ]
