"""Scripts of the presenter: what is read from them, and the one-line message of each error."""

import re
from pathlib import Path

import pytest

from kafka_edu.instruments.presenter.script import (
    ClusterWish,
    Condition,
    FactFilter,
    Number,
    Picture,
    Script,
)
from kafka_edu.instruments.presenter.script_reader import ScriptError, read_script
from kafka_edu.trace.event import Level

ROOT = Path(__file__).resolve().parents[4]
SCREENS = ("cluster", "controller", "replication")

GOOD = """\
title = "A title"

[[step]]
title = "One"
say = \"\"\"
Two lines
are one paragraph.

This is another.\"\"\"
screen = "cluster"
load = { topic = "web", rate = 50 }

[[step.act]]
name = "kill"
broker = "leader of web-0"

[[step.wait]]
look = "it is dead"
event = "ProcessEnded"
where = { child.id = 1, signal = "SIGKILL" }
bind = { victim = "child.id" }

[[step]]
title = "Two"
say = "Broker {victim} is dead."

[step.ask]
question = "Why {victim}?"
choices = ["a", "b"]
right = 2
answer = "Because."

[[step.wait]]
look = "the ISR lacks {victim}"
event = "IsrShrunk"
where = { after = { lacks = "{victim}" }, leader_epoch = { above = 0 } }
"""


def read(tmp_path: Path, text: str) -> Script:
    path = tmp_path / "script.toml"
    path.write_text(text, encoding="utf-8")
    return read_script(path, SCREENS)


def test_a_whole_script(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    path.write_text(GOOD, encoding="utf-8")
    script = read_script(path, SCREENS)
    one, two = script.steps
    assert script.title == "A title"
    assert one.say == "Two lines are one paragraph.\nThis is another."
    assert one.load == ("--topic", "web", "--rate", "50")
    assert one.acts[0].values == {"broker": "leader of web-0"}
    wait = one.expectations[0]
    assert wait.where == (
        Condition("child.id", "is", 1),
        Condition("signal", "is", "SIGKILL"),
    )
    assert wait.bind == {"victim": "child.id"}
    assert two.ask is not None
    assert two.ask.right == 2
    assert two.expectations[0].where == (
        Condition("after", "lacks", "{victim}"),
        Condition("leader_epoch", "above", 0),
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('title = "A title"', 'title = "A title', 1, "this is not TOML"),
        ('screen = "cluster"', 'scren = "cluster"', 10, "did you mean 'screen'?"),
        ('screen = "cluster"', 'screen = "clutter"', 10, "there is no screen 'clutter'"),
        ('name = "kill"', 'name = "kil"', 14, "there is no act 'kil': did you mean 'kill'?"),
        ('broker = "leader of web-0"', 'topic = "web"', 15, "there is no key 'topic'"),
        ('broker = "leader of web-0"', "", 14, "act 'kill' needs 'broker'"),
        ("leader of web-0", "the leader", 15, "'leader of TOPIC-0'"),
        ('event = "ProcessEnded"', 'event = "ProcessEnd"', 19, "did you mean ProcessEnded?"),
        ("child.id = 1", "chid.id = 1", 20, "ProcessEnded has no field 'chid'"),
        ('bind = { victim = "child.id" }', "", 25, "nothing before this binds '{victim}'"),
        ("{victim} is", "{victim:5} is", 25, "write {victim} or {victim:,}"),
        ("right = 2", "right = 3", 30, "'right' is a number up to 2"),
        ("lacks =", "misses =", 36, "no test 'misses'"),
        ("above = 0", 'above = "x"', 36, "needs a number"),
        ("above = 0", 'above = "{nobody}"', 36, "nothing before this binds '{nobody}'"),
        ('event = "IsrShrunk"', 'event = "IsrShrunk"\nafter = "victim"', 36, "bound: none yet"),
        ('event = "IsrShrunk"\n', "", 33, "either an 'event' or a 'text'"),
        ('load = { topic = "web"', 'load = { topics = "web"', 11, "there is no key 'topics'"),
        ('say = "Broker', 'sag = "Broker', 25, "did you mean 'say'?"),
    ],
)
def test_an_error_is_one_line_with_its_place(
    tmp_path: Path, old: str, new: str, line: int, words: str
) -> None:
    assert GOOD.count(old) >= 1
    with pytest.raises(ScriptError) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{tmp_path}/script.toml:{line}: "), message
    assert words in message


NUMBER = """\
title = "A title"

[[step]]
title = "How long"
say = "A broker dies."

[step.ask]
question = "How long?"
number = { right = "later-ended", unit = "ms", within = 2 }
answer = "So it was."

[[step.wait]]
look = "it ended"
event = "ProcessEnded"
bind = { ended = "@ms", later = "@ms" }

[[step.act]]
name = "kill"
zookeeper = "leader"
"""


def test_a_number_may_be_typed_and_an_act_may_name_a_zookeeper_server(tmp_path: Path) -> None:
    [step] = read(tmp_path, NUMBER).steps
    assert step.ask is not None
    assert step.ask.number == Number("later-ended", "ms", 2.0)
    assert step.acts[0].values == {"zookeeper": "leader"}


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("later-ended", "later-begun", 9, "up to this step binds 'begun'"),
        ("later-ended", "6000", 9, "'right' is a bound name, or the difference of two"),
        ("within = 2", "within = 0.5", 9, "'within' is a number of times"),
        ("within =", "near =", 9, "there is no key 'near'"),
        ("answer =", 'choices = ["a", "b"]\nanswer =', 9, "not both"),
        ('"leader"', '"boss"', 19, "'zookeeper' is a number, 'leader', 'follower'"),
        ('"leader"', '"{boss}"', 19, "nothing before this binds '{boss}'"),
        ('"kill"', '"delete-topic"', 19, "there is no key 'zookeeper'"),
    ],
)
def test_a_number_or_a_server_that_cannot_be_is_named_with_its_place(
    tmp_path: Path, old: str, new: str, line: int, words: str
) -> None:
    assert NUMBER.count(old) == 1
    with pytest.raises(ScriptError) as caught:
        read(tmp_path, NUMBER.replace(old, new))
    assert str(caught.value).startswith(f"{tmp_path}/script.toml:{line}: ")
    assert words in str(caught.value)


BREAK = (
    NUMBER
    + """\

[[break]]
say = "Kill it."
commands = ["cluster kill {leader of web-0}", "topics --bootstrap-server {servers}"]
"""
)


def test_a_script_offers_what_to_break(tmp_path: Path) -> None:
    [one] = read(tmp_path, BREAK).breaks
    assert one.say == "Kill it."
    assert one.commands[0] == "cluster kill {leader of web-0}"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("{servers}", "{server}", "'{server}' is not a role: write one as 'leader of TOPIC-0'"),
        ('say = "Kill it."', "", "'say' is missing"),
        ("commands", "command", "did you mean 'commands'?"),
        ('"cluster kill {leader of web-0}"', '""', "'commands' is a list of commands"),
    ],
)
def test_a_command_to_break_that_cannot_be_is_refused(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert BREAK.count(old) == 1
    with pytest.raises(ScriptError, match=re.escape(words)):
        read(tmp_path, BREAK.replace(old, new))


def test_an_empty_file_and_one_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r":1: 'title' is missing"):
        read(tmp_path, "")
    with pytest.raises(ScriptError, match=r"has no \[\[step\]\]"):
        read(tmp_path, 'title = "x"\n')
    path = tmp_path / "script.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ScriptError, match="not UTF-8"):
        read_script(path, SCREENS)


def test_a_step_may_show_a_picture_listen_closely_and_leave_the_act_to_the_learner(
    tmp_path: Path,
) -> None:
    path = tmp_path / "script.toml"
    text = GOOD.replace(
        'title = "Two"', 'title = "Two"\nshow = "wheel"\nlevel = "hops"\nhands = true'
    )
    text = text.replace(
        "[step.ask]", '[[step.act]]\nname = "start"\nbroker = "{victim}"\n\n[step.ask]'
    ).replace('answer = "Because."', 'answer = "It has {size}."')
    text += '\n[cluster]\nbrokers = 4\nprops = { "log.dirs" = "x" }\n'
    path.write_text(text, encoding="utf-8")
    pictures = {"wheel": Picture("drawn", {"size": "20"})}
    script = read_script(path, SCREENS, pictures)
    two = script.steps[1]
    assert (two.show, two.level, two.hands) == ("wheel", Level.HOPS, True)
    assert script.cluster == ClusterWish(4, {"log.dirs": "x"})
    assert script.pictures == pictures


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('show = "whel"', "there is no picture 'whel': none; a chapter has them"),
        ('job = "plan"', "there is no job 'plan': none; a chapter has them in jobs.py"),
        ('level = "most"', "'level' is one of state, hops, all"),
        ("hands = 1", "'hands' is true or false"),
        ("acts_first = true", "a step with 'acts_first' needs a job and an act"),
        ("hands = true", "a step with 'hands' needs an act and a wait that sees it"),
        ('facts = "web-2"', "'facts' is a list of texts"),
        ("facts = [{ event = 'IsrShrank' }]", "did you mean IsrShrunk?"),
        ("facts = [{ where = { x = 1 } }]", "'event' is missing"),
        ("facts = [{ event = 'IsrShrunk', were = 1 }]", "did you mean 'where'?"),
        ("facts = [{ event = 'IsrShrunk', where = { x = 1 } }]", "has no field 'x'"),
        ("facts = [{ event = 'LoadSampled' }]", "LoadSampled is not a fact"),
        ('facts = ["web-2", 3]', "'facts' is a list of texts"),
        ('facts = [" "]', "'facts' is a list of texts"),
        ('facts = ["{nobody}"]', "nothing before this binds '{nobody}'"),
    ],
)
def test_what_a_step_cannot_have_is_refused(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(ScriptError, match=words):
        read(tmp_path, GOOD.replace('title = "Two"', f'title = "Two"\n{line}'))


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("brokers = 10", "'brokers' is a number up to 9"),
        ("props = { a = 1 }", "'a' is a text in quotes"),
        ("broker = 3", "did you mean 'brokers'"),
        ("zookeepers = 3", "'zookeepers' needs zookeeper = \"apache\""),
        ('zookeeper = "apach"', "'zookeeper' is one of embedded, apache"),
        ('zookeeper = "apache"\nzookeepers = 8', "'zookeepers' is a number up to 7"),
        ('api_level = "2.4"', "'api_level' is one of 2.0, 2.8"),
        ("with_relays = 1", "'with_relays' is true or false"),
        ('broker_props = { 3 = { "broker.rack" = "a" } }', "'3' is not a broker: they are 0 to 2"),
        ('broker_props = { 0 = { "broker.rack" = 1 } }', "'broker.rack' is a text in quotes"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(tmp_path: Path, lines: str, words: str) -> None:
    with pytest.raises(ScriptError, match=words):
        read(tmp_path, f"{GOOD}\n[cluster]\n{lines}\n")


def test_a_step_may_say_which_facts_it_is_about(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    path.write_text(
        GOOD.replace('title = "Two"', 'title = "Two"\nfacts = ["web-0", "broker {victim}"]'),
        encoding="utf-8",
    )
    one, two = read_script(path, SCREENS).steps
    assert one.facts is None
    assert two.facts == ("web-0", "broker {victim}")


def test_a_step_may_count_facts_by_their_type(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    facts = "facts = ['web-0', { event = 'IsrShrunk', where = { leader_epoch = 1 } }]"
    path.write_text(GOOD.replace('title = "Two"', f'title = "Two"\n{facts}'), encoding="utf-8")
    where = (Condition("leader_epoch", "is", 1),)
    assert read_script(path, SCREENS).steps[1].facts == (
        "web-0",
        FactFilter("IsrShrunk", where=where),
    )


def test_a_script_may_want_what_cluster_up_can_do(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    path.write_text(
        GOOD + "\n[cluster]\nbrokers = 2\nzookeeper = 'apache'\nzookeepers = 3\n"
        "api_level = '2.0'\nwith_relays = true\n"
        "broker_props = { 0 = { 'broker.rack' = 'a' }, 1 = { 'broker.rack' = 'b' } }\n",
        encoding="utf-8",
    )
    assert read_script(path, SCREENS).cluster == ClusterWish(
        2, {}, {0: {"broker.rack": "a"}, 1: {"broker.rack": "b"}}, "apache", 3, "2.0", True
    )


def test_a_wrong_choice_may_have_a_reply(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    ask = 'answer = "Because."\nreplies = { 1 = "Not {victim}." }'
    path.write_text(GOOD.replace('answer = "Because."', ask), encoding="utf-8")
    question = read_script(path, SCREENS).steps[1].ask
    assert question is not None
    assert question.replies == ("Not {victim}.", "")


@pytest.mark.parametrize(
    ("replies", "words"),
    [
        ('3 = "x"', "'3' is not a choice: they are 1 to 2"),
        ('2 = "x"', "choice 2 is right: 'answer' is its reply"),
        ('1 = "{nobody}"', "nothing before this binds '{nobody}'"),
        ("1 = 5", "'1' is a text in quotes"),
    ],
)
def test_a_reply_that_cannot_be_is_refused(tmp_path: Path, replies: str, words: str) -> None:
    ask = f'answer = "Because."\nreplies = {{ {replies} }}'
    with pytest.raises(ScriptError, match=words):
        read(tmp_path, GOOD.replace('answer = "Because."', ask))


def test_a_name_may_be_the_time_of_the_event(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    text = GOOD.replace('victim = "child.id" }', 'victim = "child.id", at = "@ms" }')
    path.write_text(text, encoding="utf-8")
    assert read_script(path, SCREENS).steps[0].expectations[0].bind["at"] == "@ms"


def test_a_wait_may_count_from_a_moment_on_and_compare_with_a_bound_number(tmp_path: Path) -> None:
    text = GOOD.replace('victim = "child.id" }', 'victim = "child.id", at = "@ms" }')
    text = text.replace("above = 0 } }", 'above = "{victim}" } }\nafter = "at"')
    (waits,) = read(tmp_path, text).steps[1].expectations
    assert waits.after == "at"
    assert waits.where[1] == Condition("leader_epoch", "above", "{victim}")


def test_each_of_two_runs_counts_from_its_own_moment(tmp_path: Path) -> None:
    text = GOOD.replace('victim = "child.id" }', 'victim = "child.id", at = "@ms" }')
    text = text.replace(
        "above = 0 } }\n",
        'above = 0 } }\nbind = { gone = "@ms" }\n\n[[step.wait]]\nlook = "it is back"\n'
        'event = "IsrExpanded"\nafter = "gone"\n\n[[step.wait]]\nlook = "it was killed"\n'
        'event = "ProcessEnded"\nafter = "at"\n',
    ).replace('title = "Two"', 'title = "Two"\ntwice = "acks"')
    rows = 'rows = [{ what = "gone", value = "gone" }]'
    text += f'\n[twice.acks]\na = {{ label = "1" }}\nb = {{ label = "2" }}\n{rows}\n'
    steps = read(tmp_path, text).steps
    assert [[wait.after for wait in step.expectations] for step in steps] == [
        [""],
        ["", "gone_a", "at"],
        ["", "gone_b", "at"],
    ]


def test_the_script_of_the_first_lesson_is_right() -> None:
    assert read_script(ROOT / "chapters" / "ch00_first_lesson" / "script.toml", SCREENS).steps
