"""Every chapter is complete: it has a page, a script, figures, and a recording that agrees with the
page.
"""

import json
import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from chapters.chapter import FOLDER, Chapter, find_chapters
from chapters.command import MAX_RECORDING, chapter
from chapters.figures import figures
from chapters.page_values import page_values
from exercises.runner.manifest import load_manifest
from kafka_edu.cli.main import build
from kafka_edu.clients.consumer.consumer_config import CONSUMER_CONFIG
from kafka_edu.clients.producer.producer_config import PRODUCER_CONFIG
from kafka_edu.instruments.drawings.figure import rendered
from kafka_edu.instruments.presenter.break_tools import TAKE_CLUSTER
from kafka_edu.log.log_config import TOPIC_CONFIG
from kafka_edu.server.config.kafka_config_keys import CONFIG_DEF
from kafka_edu.supervisor.act_table import ACTS, parse_values
from kafka_edu.trace.event import EVENT_TYPES, Kind, Level
from kafka_edu.trace.events.group import GroupDescription
from kafka_edu.zk.embedded.session_tracker import LONGEST_SESSION_MS
from tui.presenter.run import screen_names

PARTS = (
    "## Read",
    "## Predict, run and watch",
    "## Break",
    "## Do",
    "## Where it is in the code",
    "## Errata",
    "## Words",
)
FIRST_LESSON = "00"
CHAPTERS = list(find_chapters().values())
each_chapter = pytest.mark.parametrize("one", CHAPTERS, ids=lambda one: one.id)
PARTS_OF_CHAPTERS = [part for one in CHAPTERS for part in one.parts().values()]
each_page = pytest.mark.parametrize("one", [*CHAPTERS, *PARTS_OF_CHAPTERS], ids=lambda one: one.id)


@each_chapter
def test_the_page_has_all_parts_in_their_order(one: Chapter) -> None:
    text = one.text()
    parts = PARTS if one.number != FIRST_LESSON else ("## What comes next", "## Words")
    at = [text.find(f"\n{part}") for part in parts]
    assert -1 not in at
    assert at == sorted(at)
    assert one.title.startswith(f"{one.number} ")


@each_page
def test_an_act_is_never_proved_by_what_happens_all_the_time(one: Chapter) -> None:
    """A sample or a hop of a request proves nothing: it may come by chance before the act has its
    effect.
    """
    for step in one.script(screen_names()).steps:
        for wait in step.expectations if step.acts else ():
            known = EVENT_TYPES[wait.event]
            recurs = known.kind is Kind.GAUGE or known.level is not Level.STATE
            is_of_before = wait.look == "all three brokers live"
            assert not recurs or wait.after or is_of_before, f"{step.title}: {wait.look}"


@pytest.mark.labs
@each_page
def test_the_recording_bears_the_page_out(one: Chapter, tmp_path: Path) -> None:
    report = tmp_path / "chapter.json"
    words = [*one.command.split()[1:], "--replay", "--plain", "--fast", "--json", str(report)]
    result = CliRunner(env={"KAFKA_EDU_HOME": str(tmp_path)}).invoke(chapter, words)
    assert result.exit_code == 0, result.output
    marked = len(page_values(one.text()))
    assert f"the {marked} marked values of {one.page.name} hold" in result.output
    assert all(target["holds"] for target in json.loads(report.read_text())["targets"])
    told = re.findall(r"^ +(?:b\d|sup|zk)  .*$", result.output, flags=re.MULTILINE)
    assert told
    assert not [line for line in told if re.search(r"(leader|ISR|topic)( of)? __", line)]
    if one.number != "16":  # its jobs make topics of their own
        assert "more facts" not in result.output


def test_without_the_dashboard_a_step_tells_what_it_is_about(tmp_path: Path) -> None:
    """The text shows only the fact for which the step waits and the step's `facts`, not the facts
    about all 56 partitions.
    """
    words = ["00", "--replay", "--plain", "--fast"]
    result = CliRunner(env={"KAFKA_EDU_HOME": str(tmp_path)}).invoke(chapter, words)
    step = result.output.partition("4/5 ·")[2].partition("5/5 ·")[0]
    gone, elected = re.findall(r"^ +b\d  (.*)$", step, flags=re.MULTILINE)
    assert gone == "broker 2 has lost its session"
    assert elected.startswith("leader of web-2 ")
    assert elected.endswith("2 → 0  because broker 2 is gone")


#: Settings of clients that the chapters name, and names of other kinds.
OTHER_NAMES = {"fetch.max.wait.ms", "fetch.min.bytes", "java.util.concurrent", "request.timeout.ms"}
OTHER_NAMES |= {"killed.jsonl.gz", "metadata.broker.list", "metadata.max.age.ms"}
OTHER_NAMES |= {"kafka.coordinator.group"}  # a package of Kafka
OTHER_NAMES |= {f"state.group.{field}" for field in GroupDescription._fields}


@each_chapter
def test_the_settings_that_a_chapter_names_exist(one: Chapter) -> None:
    named = {
        word
        for file in (*one.folder.glob("*.md"), *one.folder.glob("*.toml"))
        for word in re.findall(r"\b[a-z]+(?:\.[a-z]+){2,}\b", file.read_text(encoding="utf-8"))
    }
    known = OTHER_NAMES | CONFIG_DEF.keys.keys() | TOPIC_CONFIG.keys.keys()
    of_clients = PRODUCER_CONFIG.keys.keys() | CONSUMER_CONFIG.keys.keys()
    assert named - known - of_clients == set()


@each_chapter
def test_where_a_session_or_a_lag_is_predicted_the_later_default_stands_too(one: Chapter) -> None:
    """Kafka 2.5 made both three times as long (KIP-537)."""
    script = tomllib.loads((one.folder / "script.toml").read_text(encoding="utf-8"))
    asked = [choice for step in script["step"] for choice in step.get("ask", {}).get("choices", ())]
    for limit, later in (("ZooKeeper session, after 6 s", "18 s"), ("lag.time.max.ms, a", "30 s")):
        assert all(f"2.5: {later}" in choice for choice in asked if limit in choice)
    pages = (one.text(), (one.folder / "script.toml").read_text(encoding="utf-8"))
    if "<!-- exact: session_ms" in pages[0]:
        assert all("2.5" in page for page in pages)


@each_chapter
def test_zookeeper_grants_the_session_that_a_chapter_wants(one: Chapter) -> None:
    """ZooKeeper would shorten a longer session time-out without a message, and then the chapter's
    predictions would be wrong.
    """
    script = tomllib.loads((one.folder / "script.toml").read_text(encoding="utf-8"))
    wanted = script.get("cluster", {}).get("props", {}).get("zookeeper.session.timeout.ms", "6000")
    named = re.findall(r"session\.timeout\.ms=(\d+)", one.text())
    assert max(map(int, (wanted, *named))) <= LONGEST_SESSION_MS


@each_chapter
def test_there_is_a_page_for_the_teacher_with_a_timetable(one: Chapter) -> None:
    text = (one.folder / "teacher.md").read_text(encoding="utf-8")
    assert text.startswith(f"# Teacher's page: {one.number} ")
    for part in ("**Time**", "| minutes | what |", "**On the projector**", "uestions"):
        assert part in text, part


@each_chapter
def test_the_teachers_page_has_every_step_every_exercise_and_their_minutes(one: Chapter) -> None:
    text = (one.folder / "teacher.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|.*\| ([\d–]+) \|$", text, re.MULTILINE)
    ranges = [[int(step) for step in row.split("–")] for row in rows]
    shown = [step for each in ranges for step in range(each[0], each[-1] + 1)]
    steps = len(one.script(screen_names()).steps)
    if one.number != "00":  # its timetable has commands
        assert shown == list(range(1, steps + 1))
    exercises = [each for each in load_manifest().values() if each.id.startswith(one.number)]
    for each in exercises:
        assert each.id in text, f"{each.id} is not on the teacher's page"
    minutes = sum(each.minutes for each in exercises)
    assert not minutes or f"{minutes} for the exercises" in " ".join(text.split())


@each_chapter
def test_the_page_of_the_course_names_it(one: Chapter) -> None:
    text = (FOLDER.parent / "docs" / "course.md").read_text(encoding="utf-8")
    assert f"../chapters/{one.name}/README.md" in text
    assert f"../chapters/{one.name}/teacher.md" in text


@each_page
def test_the_recording_is_small(one: Chapter) -> None:
    assert one.recording.stat().st_size <= MAX_RECORDING


@each_chapter
def test_each_picture_of_the_page_exists(one: Chapter) -> None:
    for target in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", one.text()):
        assert (one.folder / target).is_file(), target


@pytest.mark.parametrize("path", figures(), ids=lambda path: path.stem)
def test_a_figure_is_what_the_classes_draw(path: Path) -> None:
    """The layout is compared too, because graphviz-pure writes the same bytes on every machine."""
    figure = figures()[path]
    assert path.read_text(encoding="utf-8") == figure.source, "run python -m chapters.figures"
    drawn = path.with_suffix(".svg").read_bytes()
    assert drawn == rendered(figure), "run python -m chapters.figures"


@pytest.mark.parametrize("path", figures(), ids=lambda path: path.stem)
def test_a_figure_can_be_read_on_a_phone(path: Path) -> None:
    """On a phone with 390 pixels, the site shows a figure 358 pixels wide. The figure's smallest
    letters must still be 10 pixels high.
    """
    svg = path.with_suffix(".svg").read_text(encoding="utf-8")
    drawn = re.search(r'<svg width="([\d.]+)pt"', svg)
    assert drawn is not None
    smallest = min(float(size) for size in re.findall(r'font-size="([\d.]+)"', svg))
    assert smallest * min(358 / float(drawn[1]), 4 / 3) >= 10
    families = set(re.findall(r'font-family="(\w+)', svg))
    assert families == {"Helvetica"}


@each_page
def test_what_a_chapter_offers_to_break_are_commands_of_ours(one: Chapter) -> None:
    breaks = one.script(screen_names()).breaks
    assert one.needs() or len(breaks) >= 2
    root = build()
    for command in [words for each in breaks for words in each.commands]:
        name, *words = shlex.split(re.sub(r"{[^}]*}", "0", command.partition("  # ")[0]))
        found = root.get_command(click.Context(root), name)
        assert found is not None, command
        if isinstance(found, click.Group):
            inner = found.commands[words[0]]
            if inner.name == "act":
                parse_values(ACTS[words[1]], words[2:])
            found = inner
        options = {word for word in words if word.startswith("--")}
        known = {option for each in found.params for option in each.opts}
        assert options <= known or "{servers}" in command, "Kafka's tools read their own options"
        assert ("--cluster" in known) == (name in TAKE_CLUSTER), command


def test_the_command_lists_and_reads() -> None:
    run = CliRunner(env={"COLUMNS": "160"})
    assert "The timing wheel" in run.invoke(chapter, []).output
    assert "Errata" in run.invoke(chapter, ["2", "--read"]).output


def test_an_unknown_chapter_is_refused_with_those_there_are() -> None:
    result = CliRunner().invoke(chapter, ["77"])
    assert result.exit_code == 2
    assert "there is no chapter '77'; there are: " in result.output


def test_a_chapter_names_its_parts() -> None:
    assert [part.id for part in PARTS_OF_CHAPTERS] == ["05-ensemble", "13-joins"]
    result = CliRunner().invoke(chapter, ["05", "--part", "choir"])
    assert result.exit_code == 2
    assert "chapter 05 has no part 'choir'; there are: ensemble" in result.output
    read = CliRunner().invoke(chapter, ["05", "--part", "ensemble", "--read"])
    assert "Two of three are gone" in read.output
    for part in PARTS_OF_CHAPTERS:
        page = part._replace(part="").text()
        assert f"]({part.page.name})" in page
        assert f"./kafka-edu {part.command} " in page


def test_without_a_terminal_no_cluster_is_started(tmp_path: Path) -> None:
    result = CliRunner(env={"KAFKA_EDU_HOME": str(tmp_path)}).invoke(chapter, ["02"])
    assert result.exit_code == 1
    assert "needs a terminal; --plain does without one" in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_does_not_hold_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "README.md"
    page.write_text("# 02 x\n\nIt goes into slot **18**<!-- exact: slot_350 -->.\n")
    monkeypatch.setattr(Chapter, "page", page)
    words = ["02", "--replay", "--plain", "--fast"]
    result = CliRunner(env={"KAFKA_EDU_HOME": str(tmp_path)}).invoke(chapter, words)
    assert result.exit_code == 1
    assert f"{page}:3: the page says 18, the run 17" in result.output
