"""The capstone: its command, and its judge, report and certificate for events that the tests
make.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

from exercises.capstone import MOMENTS, PROPS, Played, only_late
from exercises.capstone_judge import Vacancy, acts, judge, learner_totals, vacancies
from exercises.capstone_report import lines_of, report_of, serving
from exercises.capstone_wrong import WRONG
from exercises.certificate import SLICES, Certificate, page, picture, timeline
from exercises.command import lab
from exercises.my_broker import parts_of, reference_parts
from exercises.runner.manifest import find_exercise, load_manifest
from exercises.runner.verdict import Step
from exercises.wrong_answers import WrongAnswer
from kafka_edu.learner.seams import BROKER, seams_of
from kafka_edu.trace.event import Envelope, Event, Source, SourceKind
from kafka_edu.trace.events.client import LoadState
from kafka_edu.trace.events.controller import ControllerElected, LeaderElected
from kafka_edu.trace.events.learner import LearnerCalls, LearnerSampled
from kafka_edu.trace.events.replication import BecameLeader, HighWatermarkAdvanced
from kafka_edu.trace.events.supervisor import (
    ProcessEnded,
    ProcessPaused,
    ProcessResumed,
    ProcessStarted,
)

SECOND = 1_000_000
PARTS = reference_parts(load_manifest().values())


def told(broker: int, at_s: float, event: Event) -> Envelope:
    """Return an event of a broker; -1: of the supervisor."""
    kind = SourceKind.BROKER if broker >= 0 else SourceKind.SUPERVISOR
    us = round(at_s * SECOND)
    return Envelope(Source(kind, max(broker, 0)), us, 0, us // 1000, us, event)


def leads(broker: int, at_s: float, epoch: int, controller: int = 1) -> Envelope:
    event = BecameLeader(
        topic="t",
        partition=0,
        leader_epoch=epoch,
        controller_epoch=controller,
        start_offset=0,
        high_watermark=0,
        isr=(0, 1, 2),
        replicas=(0, 1, 2),
        zk_version=0,
    )
    return told(broker, at_s, event)


def mark(broker: int, at_s: float, before: int, after: int) -> Envelope:
    event = HighWatermarkAdvanced(
        topic="t",
        partition=0,
        leader_epoch=0,
        before=before,
        after=after,
        log_end_offset=after,
        is_leader=True,
    )
    return told(broker, at_s, event)


def child(broker: int) -> Source:
    return Source(SourceKind.BROKER, broker)


def elected(at_s: float, old: int, new: int) -> Envelope:
    event = LeaderElected(
        topic="t",
        partition=0,
        old_leader=old,
        new_leader=new,
        leader_epoch=1,
        isr=(new,),
        replicas=(0, 1, 2),
        isr_before=(0, 1, 2),
        live=(1, 2),
        strategy="OfflinePartition",
        unclean=False,
        zk_path="",
        zk_version=1,
        controller_epoch=1,
    )
    return told(new, at_s, event)


STARTED = [
    told(-1, 0.0, ProcessStarted(process=f"broker-{one}", child=child(one), pid=9 + one))
    for one in range(3)
]
RUN = [
    *STARTED,
    told(1, 0.5, ControllerElected(epoch=1, epoch_zk_version=0)),
    leads(0, 1.0, 0),
    mark(0, 2.0, 0, 5),
    told(
        -1,
        3.0,
        ProcessEnded(
            process="broker-0", child=child(0), pid=9, code=-9, signal="SIGKILL", asked=True
        ),
    ),
    told(-1, 4.0, ProcessPaused(process="broker-2", child=child(2), pid=11)),
    told(-1, 5.0, ProcessResumed(process="broker-2", child=child(2), pid=11)),
    elected(9.0, 0, 1),
    leads(1, 9.1, 1),
    told(-1, 10.0, ProcessStarted(process="broker-0", child=child(0), pid=20)),
    mark(1, 12.0, 0, 7),
]


def failed(envelopes: list[Envelope]) -> list[str]:
    return [step.says for step in judge(envelopes) if not step.passed]


def test_a_run_that_holds() -> None:
    assert failed(RUN) == []
    assert vacancies(RUN) == [Vacancy("t-0", 6_000.0)]
    assert acts(RUN) == {"killed": 1, "paused": 1, "stopped": 0}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ([leads(2, 13.0, 1)], "one leader in each epoch"),
        ([told(2, 13.0, ControllerElected(epoch=1, epoch_zk_version=0))], "one controller in each"),
        ([mark(0, 13.0, 5, 4)], "never goes back"),
        ([leads(1, 13.0, 2, controller=3), leads(1, 14.0, 3, controller=2)], "old controller"),
    ],
)
def test_each_invariant_is_held_against_the_events(more: list[Envelope], says: str) -> None:
    (wrong,) = failed([*RUN, *more])
    assert says in wrong


def test_calls_are_counted_over_all_lives() -> None:
    def sampled(at_s: float, calls: int) -> Envelope:
        total = LearnerCalls(calls=calls, failures=1)
        return told(0, at_s, LearnerSampled(exercise="02-1", total=total))

    lives = [sampled(1, 5), sampled(2, 8), sampled(3, 0), sampled(4, 3)]
    assert learner_totals(lives, "02-1") == (11, 2)
    assert learner_totals([], "02-1") == (0, 0)


def played(steps: dict[str, list[Step]] | None = None, lost: int = 0) -> Played:
    state = LoadState("t", "g", "all", 40, 1, 1, 9, 9, 0, 0, 0, 9, 0, lost, "")
    well = {moment.name: [Step("it goes on", True, "")] for moment in MOMENTS}
    return Played(180.0, {**well, **(steps or {})}, state, 0, RUN)


def test_what_is_lost_or_fails_is_no_certificate() -> None:
    names = {target.name for target in report_of(played(), PARTS).targets if not target.holds}
    assert all("was asked" in name for name in names), "nobody asked them in these few events"
    wrong = {"the ISR": [Step("it leaves", False, "it is still a member")]}
    missed = [one.name for one in report_of(played(wrong, lost=2), PARTS).targets if not one.holds]
    assert "the ISR: steps that failed" in missed
    assert "acked records that were lost" in missed


def test_parts_that_are_not_written_are_ours_and_named() -> None:
    some = parts_of([part.exercise for part in PARTS], {}, {"02-1": "not passed yet"}, ())
    assert {line.whose for line in lines_of(played(), some, MOMENTS)} == {""}
    lines = lines_of(played(), PARTS, MOMENTS)
    assert [line.whose for line in lines][:3] == ["02-4", "03-2", "03-3"]
    assert serving(PARTS, MOMENTS[0]) == "02-4", "the later timer"


def test_each_moment_has_a_seam_and_a_wrong_part_that_is_written() -> None:
    assert len(MOMENTS) == 9
    assert {one for moment in MOMENTS for one in moment.exercises} <= set(seams_of(BROKER))
    assert set(WRONG) == {moment.name for moment in MOMENTS}
    for wrong in WRONG.values():
        exercise = find_exercise(wrong.exercise)
        if not wrong.name:
            made = WrongAnswer(exercise, 1, "", "", "", "", (wrong.edit,), True, False)
            assert made.edited() != exercise.solution.read_text(encoding="utf-8")


def certificate(mine: int = 3) -> Certificate:
    lines = lines_of(played(), PARTS, MOMENTS)
    shown = [line if n < mine else line._replace(whose="") for n, line in enumerate(lines)]
    return Certificate(
        "Han <Meimei>", "2026-11-28", 180.0, 1, 9, 0, acts(RUN), 6_000.0, 5_500.0, shown, RUN
    )


def test_the_timeline_says_who_was_down_and_who_stood_still() -> None:
    source = timeline(RUN, (0, 1, 2)).source
    assert source.count("<td bgcolor=") == 4 * SLICES
    assert "12 s" in source


def test_the_certificate_is_one_page_and_a_picture() -> None:
    text = page(certificate(), (0, 1, 2))
    assert "Han &lt;Meimei&gt; has built a broker" in text
    assert "3 of 9 parts" in text
    assert "9 records were acknowledged, and 0 were lost." in text
    assert "6.0 s, and 5.5 s with all parts from the course" in text
    assert text.count("<svg") == 1
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert picture(certificate(), (0, 1, 2)).startswith(b"\x89PNG")


def test_without_a_part_of_ones_own_it_says_what_to_do(tmp_path: Path) -> None:
    result = CliRunner().invoke(lab, ["capstone", "--dir", str(tmp_path)])
    assert result.exit_code == 1
    assert "nothing in it would be yours: pass an exercise first" in result.output


def test_a_follower_leaves_the_isr_before_its_session_ends() -> None:
    assert int(PROPS["replica.lag.time.max.ms"]) * 1.5 < int(PROPS["zookeeper.session.timeout.ms"])


def test_only_what_came_late_is_tried_once_more() -> None:
    well, late = Step("a", True, ""), Step("b", False, "", late=True)
    assert only_late([well, late])
    assert not only_late([well])
    assert not only_late([late, Step("c", False, "")]), "a wrong answer is wrong at once"
