"""The presentation as a state machine: what each key and each event changes."""

from pathlib import Path

import pytest

from kafka_edu.instruments.presenter.bookmark import Bookmark, MissedBefore
from kafka_edu.instruments.presenter.page import Role, page
from kafka_edu.instruments.presenter.presentation import (
    Finish,
    Knows,
    Listen,
    Missed,
    OpenJobs,
    Perform,
    Phase,
    Presentation,
    RunJob,
    ShowMoment,
    ShowNow,
    ShowScreen,
    StartLoad,
    UnknownTargetError,
    Watch,
    resolve,
)
from kafka_edu.instruments.presenter.script import (
    CompareRow,
    Comparison,
    Condition,
    Expectation,
    Jobs,
    Number,
    Picture,
    Question,
    Script,
    ScriptAct,
    Step,
)
from kafka_edu.supervisor.act_table import ACTS
from kafka_edu.trace.event import SUPERVISOR, Envelope, Event, Level, Source
from kafka_edu.trace.events.controller import BrokerFailed
from kafka_edu.trace.events.spark import JobStarted
from kafka_edu.trace.events.supervisor import (
    ActionAsked,
    ActionDone,
    ProcessEnded,
    ProcessPaused,
)

KILL = ScriptAct("kill", {"broker": "leader of web-0"}, 9)
DEAD = Expectation("it is dead", "ProcessEnded", bind={"victim": "child.id"})
GONE = Expectation(
    "{victim} is gone", "BrokerFailed", where=(Condition("broker_id", "is", "{victim}"),)
)
ASK = Question("Who?", ("nobody", "the controller"), 2, "It was broker {victim}.")
SCRIPT = Script(
    "Kill",
    (
        Step("Look", "Look at it.", "cluster", load=("--topic", "web")),
        Step("Kill", "Now.", "controller", acts=(KILL,), ask=ASK, expectations=(DEAD, GONE)),
    ),
    end="Broker {victim} is dead.",
)


def happened(event: Event, at_us: int) -> Envelope:
    return Envelope(SUPERVISOR, 1, 0, 0, at_us, event)


def ended(broker: int) -> ProcessEnded:
    return ProcessEnded(
        process=f"broker-{broker}",
        child=Source.of_broker(broker),
        pid=1,
        code=0,
        signal="SIGKILL",
        asked=True,
    )


def texts(at: Presentation, role: Role) -> list[str]:
    return [line.text for line in page(at) if line.role is role]


def at_the_question(live: bool = True) -> Presentation:
    at = Presentation(SCRIPT, live=live)
    assert at.begin() == [ShowScreen("cluster")]
    at.go_on(10)
    at.go_on(20)
    at.go_on(30)
    assert at.phase is Phase.QUESTION
    return at


def test_narration_load_question_acts_evidence_answer() -> None:
    at = Presentation(SCRIPT, live=True)
    at.begin()
    assert at.go_on(10) == [StartLoad(("--topic", "web")), Watch()]
    assert not at.waits, "a load is waited for by nobody"
    assert at.go_on(20) == [ShowScreen("controller")]
    assert at.go_on(30) == []
    assert at.can_choose
    assert texts(at, Role.QUESTION) == ["Who?"]
    assert not texts(at, Role.ANSWER), "the question comes before the answer"
    assert at.choose(3, 40) == [], "there is no third choice"
    assert at.choose(1, 40) == []
    assert texts(at, Role.QUESTION)[1] == "How sure are you? 1 a guess · 2 rather sure · 3 sure"
    assert at.go_on(40) == [Perform(KILL), Watch()], "nobody has to say it"

    assert not at.apply(happened(ended(1), 39)), "that was before the act"
    assert at.apply(happened(BrokerFailed(broker_id=2, shutting_down=False), 41)) is False
    assert not at.apply(happened(ended(1), 42))
    assert at.names == {"victim": "1"}
    assert not at.apply(happened(BrokerFailed(broker_id=2, shutting_down=False), 43))
    assert texts(at, Role.EXPECTED) == ["○ 1 is gone"]
    assert at.apply(happened(BrokerFailed(broker_id=1, shutting_down=False), 44))
    assert at.waits, "the act itself is not done yet"
    assert at.after_seen(45) == []
    at.act_done()
    at.after_seen(46)
    assert at.phase is Phase.ANSWER
    assert texts(at, Role.ANSWER) == ["No, choice 2. It was broker 1."]
    assert [line.text[0] for line in page(at) if line.role is Role.CHOSEN] == ["▶"]
    assert "✓ 2 " in "".join(texts(at, Role.SEEN)), "the right choice has a mark"
    assert at.go_on(50) == []
    assert at.phase is Phase.END
    assert texts(at, Role.SAY) == ["Broker 1 is dead."]
    assert at.go_on(60) == [Finish()]


JOBS = Script(
    "Jobs",
    (
        Step("Look", "Look at it."),
        Step("Run", "It runs.", job="plan", expectations=(DEAD,)),
        Step("Read", "Read this."),
    ),
    jobs=Jobs(("chapter", "16", "--jobs"), {"plan": "", "late": ""}),
)


def test_the_process_of_the_jobs_is_opened_before_the_first_job_is_due() -> None:
    at = Presentation(JOBS, live=True)
    assert at.begin() == [OpenJobs()]
    at.go_on(10)
    assert at.go_on(20) == [RunJob("plan"), Watch()]
    assert at.waits


def test_a_job_shows_nothing_of_before_it_began() -> None:
    at = Presentation(JOBS, live=True)
    at.begin()
    at.go_on(10)
    at.apply(happened(ended(1), 15))
    at.go_on(20)
    assert at.waits, "an earlier run may have left the same event"
    assert at.apply(happened(ended(1), 21))


def test_the_acts_of_a_step_wait_until_its_job_has_begun() -> None:
    run = Step("Run", "It runs.", job="plan", acts=(KILL,), expectations=(DEAD,))
    at = Presentation(JOBS._replace(steps=(run,)), live=True)
    at.begin()
    assert at.go_on(20) == [RunJob("plan"), Watch()]
    at.apply(happened(JobStarted(job="plan"), 19))
    assert at.after_seen(21) == [], "that was an earlier run"
    at.apply(happened(JobStarted(job="late"), 22))
    assert at.after_seen(23) == [], "that is another job"
    at.apply(happened(JobStarted(job="plan"), 24))
    assert at.after_seen(25) == [Perform(KILL)]
    assert at.after_seen(26) == [], "once"
    assert {"JobStarted", "ProcessEnded"} == at.script.events(), "never left out"


def test_the_acts_of_a_step_do_not_begin_with_the_job_of_the_step_before() -> None:
    run = Step("Run", "It runs.", job="plan", acts=(KILL,), expectations=(DEAD,))
    at = Presentation(JOBS._replace(steps=(run, run._replace(job="late"))), live=True)
    at.begin()
    at.go_on(20)
    at.apply(happened(JobStarted(job="plan"), 24))
    at.after_seen(25)
    at.act_done()
    assert at.apply(happened(ended(1), 26))
    at.go_on(30)
    assert at.go_on(40) == [RunJob("late"), Watch()]
    assert at.after_seen(41) == []
    at.apply(happened(JobStarted(job="late"), 42))
    assert at.after_seen(43) == [Perform(KILL)]


def test_the_learners_act_is_left_to_the_learner_when_the_job_has_begun() -> None:
    run = Step("Run", "It runs.", job="plan", acts=(KILL,), expectations=(DEAD,), hands=True)
    at = Presentation(JOBS._replace(steps=(run,)), live=True)
    at.begin()
    assert at.go_on(20) == [RunJob("plan"), Watch()]
    at.apply(happened(JobStarted(job="plan"), 24))
    assert at.after_seen(25) == []
    assert at.your_turn


def test_acts_that_waited_for_the_job_when_the_learner_left_are_done_later(
    tmp_path: Path,
) -> None:
    run = Step("Run", "It runs.", job="plan", acts=(KILL,), expectations=(DEAD,))
    script = JOBS._replace(steps=(run,))
    at = Presentation(script, live=True)
    at.begin()
    at.go_on(20)
    bookmark = Bookmark(tmp_path / "run.toml", "abc", "default", tmp_path)
    bookmark.save(at.place())
    again = Presentation(script, live=True, place=bookmark.load())
    assert again.begin() == [OpenJobs(), RunJob("plan"), Watch()]
    assert again.after_seen(30) == []
    again.apply(happened(JobStarted(job="plan"), 31))
    assert again.after_seen(32) == [Perform(KILL)]
    done = Presentation(script, live=True, place=again.place())
    done.begin()
    done.apply(happened(JobStarted(job="plan"), 41))
    assert done.after_seen(42) == [], "it was done before"


def test_acts_that_come_first_do_not_wait_for_the_job() -> None:
    run = Step("Run", "It runs.", job="plan", acts=(KILL,), expectations=(DEAD,), acts_first=True)
    at = Presentation(JOBS._replace(steps=(run,)), live=True)
    at.begin()
    assert at.go_on(20) == [RunJob("plan"), Perform(KILL), Watch()]
    at.apply(happened(JobStarted(job="plan"), 21))
    assert at.after_seen(22) == [], "once"


def test_space_does_the_act_if_the_job_has_failed() -> None:
    run = Step("Run", "It runs.", job="plan", acts=(KILL,), expectations=(DEAD,))
    at = Presentation(JOBS._replace(steps=(run,)), live=True)
    at.begin()
    at.go_on(20)
    at.act_failed("exit code 1")
    assert at.go_on(21) == [Perform(KILL)]
    at.apply(happened(JobStarted(job="plan"), 24))
    assert at.after_seen(25) == [], "it is on its way"


def test_the_order_in_which_events_arrive_does_not_matter() -> None:
    at = at_the_question()
    at.go_on(40)
    at.apply(happened(BrokerFailed(broker_id=1, shutting_down=False), 50))
    at.apply(happened(BrokerFailed(broker_id=2, shutting_down=False), 51))
    assert at.seen == [False, False], "nobody knows yet which broker was killed"
    assert at.apply(happened(ended(1), 42)), "the supervisor was late"
    assert at.moments[1] == 50


def test_the_earliest_event_counts_and_not_the_first_that_arrived() -> None:
    gone = GONE._replace(bind={"gone_at": "@ms"})
    step = SCRIPT.steps[1]._replace(ask=None, expectations=(DEAD, gone))
    at = Presentation(SCRIPT._replace(steps=(step,)), live=True)
    at.begin()
    at.go_on(40)
    at.apply(happened(BrokerFailed(broker_id=1, shutting_down=False), 60_000))
    at.apply(happened(BrokerFailed(broker_id=1, shutting_down=False), 50_000))
    assert at.apply(happened(ended(1), 42_000))
    assert at.names["gone_at"] == "50"
    assert at.named_us == {"victim": 42_000, "gone_at": 50_000}


def test_the_last_job_begins_again_after_a_resumption() -> None:
    at = Presentation(JOBS, live=True)
    at.begin()
    at.go_on(10)
    at.go_on(20)
    again = Presentation(JOBS, live=True, place=at.place())
    assert again.begin() == [OpenJobs(), RunJob("plan"), Watch()]
    at.apply(happened(ended(1), 30))
    at.go_on(40)
    later = Presentation(JOBS, live=True, place=at.place())
    assert later.begin() == [OpenJobs(), RunJob("plan")]


def test_a_recording_runs_no_jobs() -> None:
    at = Presentation(JOBS, live=False)
    assert at.begin() == []
    at.go_on(10)
    assert at.go_on(20) == [Watch()]


def test_what_happens_while_the_learner_reads_counts() -> None:
    gone = Expectation("broker 1 is gone", "BrokerFailed")
    script = Script("T", (SCRIPT.steps[0], Step("Gone", "Read this slowly.", expectations=(gone,))))
    at = Presentation(script, live=True)
    at.apply(happened(BrokerFailed(broker_id=1, shutting_down=False), 5))
    at.go_on(10)
    at.go_on(20)
    at.go_on(30)
    assert at.waits, "that was before the step before"
    at = Presentation(script, live=True)
    at.go_on(10)
    at.go_on(20)
    at.apply(happened(BrokerFailed(broker_id=1, shutting_down=False), 25))
    at.go_on(30)
    assert not at.waits


def test_no_time_ends_a_wait_but_the_learner_may() -> None:
    at = at_the_question()
    at.go_on(40)
    at.act_done()
    at.after_seen(10**12)
    assert at.waits
    at.go_on(10**12)
    assert at.waits
    assert "again continues without it" in texts(at, Role.HINT)[0]
    at.go_on(10**12 + 1)
    assert at.phase is Phase.ANSWER


def test_an_act_that_is_refused_is_tried_again_by_the_same_key() -> None:
    at = at_the_question()
    at.go_on(40)
    at.act_failed("broker 1 is stopped")
    assert texts(at, Role.FAILURE) == ["✗ broker 1 is stopped"]
    assert at.go_on(50) == [Perform(KILL)]
    assert not at.failure


def test_a_recording_gets_no_acts_and_says_when_it_ends_too_early() -> None:
    at = at_the_question(live=False)
    assert at.go_on(40) == [Watch()]
    assert not at.apply(happened(ended(1), 3)), "one of two"
    at.ended()
    assert texts(at, Role.FAILURE) == ["✗ the recording ended without it"]
    at.go_on(50)
    assert at.phase is Phase.ANSWER


def test_back_shows_the_recorded_moment_and_forth_acts_no_second_time() -> None:
    at = at_the_question()
    at.go_on(40)
    at.act_done()
    assert at.back() == [ShowScreen("cluster"), ShowMoment(20)]
    assert "the cluster still runs" in texts(at, Role.NOTE)[0]
    assert at.back() == [], "there is nothing before the first step"
    at.apply(happened(ended(1), 41))
    assert at.seen == [True, False], "what happens meanwhile counts"
    assert at.go_on(50) == [ShowScreen("controller"), ShowNow()]
    assert at.phase is Phase.WATCHING


def test_a_text_on_the_screen() -> None:
    step = Step("Look", "Look.", expectations=(Expectation("it leads", text="✕ killed"),))
    at = Presentation(Script("T", (step,)), live=True)
    at.go_on(10)
    assert at.texts() == ["✕ killed"]
    assert not at.see("all is well", 11)
    assert at.see("broker 1 ✕ killed (SIGKILL)", 12)


def test_a_place_is_saved_and_resumed(tmp_path: Path) -> None:
    at = at_the_question()
    at.go_on(40)
    at.apply(happened(ended(1), 41))
    script = tmp_path / "kill.toml"
    bookmark = Bookmark(script, "abc", "default", tmp_path)
    assert bookmark.load() is None
    bookmark.save(at.place())
    again = Presentation(SCRIPT, live=True, place=bookmark.load())
    assert again.place() == at.place()
    load = StartLoad(("--topic", "web"))
    assert again.begin() == [ShowScreen("controller"), load, Watch()], "its act is not repeated"
    assert again.apply(happened(BrokerFailed(broker_id=1, shutting_down=False), 44))
    assert Bookmark(script, "other text", "default", tmp_path).load() is None
    bookmark.path.write_text("{}", encoding="utf-8")
    assert bookmark.load() is None, "a broken file counts as none"


def test_only_the_watched_step_has_a_load_that_ends_by_itself() -> None:
    lasting, short = ("--topic", "web"), ("--topic", "web", "--seconds", "3")
    wait = (Expectation("it has ended", text="ended"),)
    steps = (
        Step("A", "A load.", load=lasting),
        Step("B", "Three seconds.", load=short, expectations=wait),
        Step("C", "Look.", expectations=wait),
    )
    at = Presentation(Script("T", steps), live=True)
    at.go_on(10)
    at.go_on(20)
    assert (at.step, at.load()) == (1, lasting)
    at.go_on(30)
    assert (at.phase, at.load()) == (Phase.WATCHING, short)
    at.see("ended", 40)
    at.go_on(50)
    assert (at.step, at.load()) == (2, None)


def test_targets_are_found_when_the_act_is_due() -> None:
    knows = Knows(2, {"web-0": (1, (1, 2, 0)), "web-1": (-1, (0,)), "web-2": (1, (1, 2))})

    def broker(words: str) -> int | str:
        return resolve(ScriptAct("kill", {"broker": words}, 1), {"v": "0"}, knows)["broker"]

    assert broker("leader of web-0") == 1
    assert broker("follower of web-0") == 0, "2 is the controller"
    assert broker("follower of web-2") == 2, "there is no other"
    assert broker("controller") == 2
    assert broker("not the controller") == 0, "the first of the others"
    with pytest.raises(UnknownTargetError, match="no broker is known that is not the controller"):
        resolve(ScriptAct("kill", {"broker": "not the controller"}, 1), {}, Knows(2, {}))
    assert broker("{v}") == 0
    with pytest.raises(UnknownTargetError, match="web-1 has no leader now"):
        broker("leader of web-1")
    with pytest.raises(UnknownTargetError, match="web-9"):
        broker("follower of web-9")


def test_a_server_of_the_ensemble_is_found_when_the_act_is_due() -> None:
    knows = Knows(2, {}, zookeeper_leader=2, zookeepers=(2, 3))

    def server(words: str | int, now: Knows = knows) -> int | str:
        return resolve(ScriptAct("kill", {"zookeeper": words}, 1), {"v": "1"}, now)["zookeeper"]

    assert [server(words) for words in ("leader", "follower", "{v}", 3)] == [2, 3, 1, 3]
    with pytest.raises(UnknownTargetError, match="no ZooKeeper server leads now"):
        server("follower", Knows(2, {}))
    with pytest.raises(UnknownTargetError, match="no ZooKeeper server follows now"):
        server("follower", knows._replace(zookeepers=(2,)))
    kill = ACTS["kill"]
    assert kill.title_with({"zookeeper": "leader"}) == "kill -9 ZooKeeper's leader"
    assert kill.title_with({"zookeeper": 3}) == "kill -9 zookeeper-3"


PAUSE = ScriptAct("pause", {"broker": "follower of web-0"}, 3)
PAUSED = Expectation("it is paused", "ProcessPaused", bind={"who": "child.id", "at": "@ms"})
YOURS = Script(
    "Pause",
    (
        Step("Wheel", "Look.", ask=ASK._replace(answer="{size}"), show="wheel"),
        Step("Pause", "Now.", acts=(PAUSE,), hands=True, level=Level.ALL, expectations=(PAUSED,)),
        Step("End", "Over."),
    ),
    pictures={"wheel": Picture("\x1b[1mdrawn\x1b[0m", {"size": "20"})},
)


def paused(broker: int, at_us: int) -> Envelope:
    child = Source.of_broker(broker)
    return happened(ProcessPaused(process=f"broker-{broker}", child=child, pid=1), at_us)


def at_your_turn() -> Presentation:
    at = Presentation(YOURS, live=True)
    at.begin()
    at.go_on(1)
    assert texts(at, Role.PICTURE) == [], "the question comes first"
    at.choose(2, 2)
    at.go_on(2)
    assert texts(at, Role.PICTURE) == ["\x1b[1mdrawn\x1b[0m"]
    at.after_seen(3)
    assert texts(at, Role.ANSWER) == ["Yes. 20"]
    assert at.go_on(4) == [Listen(Level.ALL)]
    assert at.go_on(5) == [Watch()], "nothing is done for the learner"
    assert at.your_turn
    assert "your turn" in texts(at, Role.HINT)[0]
    return at


def acted(at: Presentation, action: str, broker: int, at_us: int, *, ok: bool = True) -> None:
    """Let somebody ask the supervisor for an act, and let the supervisor do it or refuse it."""
    target, title = Source.of_broker(broker), ACTS[action].title_with({"broker": broker})
    at.apply(happened(ActionAsked(action=action, target=target, title=title), at_us))
    done = ActionDone(action=action, target=target, ok=ok, message="")
    at.apply(happened(done, at_us + 1))


def test_another_act_than_the_one_asked_for_is_named_with_what_it_did() -> None:
    at = at_your_turn()
    acted(at, "kill", 1, 6_000, ok=False)
    assert texts(at, Role.FAILURE) == [], "it was refused, so nothing was done"
    acted(at, "kill", 1, 7_000)
    (said,) = texts(at, Role.FAILURE)
    assert said.startswith(
        "✗ You did something else: kill -9 broker 1. The process is gone at once"
    )
    assert said.splitlines()[1] == "This step asks for: pause the follower of web-0 (SIGSTOP)"
    at.apply(paused(2, 8_000))
    assert texts(at, Role.FAILURE) == [], "what was asked for has happened"


def test_the_same_act_on_another_broker_is_named_if_the_script_names_a_number() -> None:
    look, pause, end = YOURS.steps
    second = pause._replace(acts=(ScriptAct("pause", {"broker": 2}, 1),))
    for named, instead in ((second, "pause broker 1 (SIGSTOP)"), (pause, None)):
        at = Presentation(YOURS._replace(steps=(look, named, end)), live=True)
        for number in range(1, 6):
            at.go_on(number)
            at.after_seen(number)
            if at.your_turn:
                break
        assert at.your_turn
        acted(at, "pause", 1, 6_000)
        assert (at.instead and at.instead.title) == instead


def test_the_second_of_two_expected_acts_is_no_other_act() -> None:
    _, pause, end = YOURS.steps
    both = (ScriptAct("pause", {"broker": 1}, 1), ScriptAct("resume", {"broker": 1}, 2))
    steps = (pause._replace(acts=both), end)
    at = Presentation(YOURS._replace(steps=steps), live=True)
    at.begin()
    at.go_on(1)
    assert at.your_turn
    acted(at, "resume", 1, 6_000)
    assert at.instead is None
    acted(at, "resume", 2, 7_000)
    assert at.instead is not None


def test_the_learner_acts_and_the_time_of_it_gets_a_name() -> None:
    at = at_your_turn()
    assert at.apply(paused(2, 7_000))
    assert not at.your_turn
    assert not at.acts_left
    assert at.names["who"] == "2"
    assert at.names["at"] == "7"
    assert at.go_on(8_000) == [Listen(Level.STATE)]


def test_a_learner_who_acts_before_the_question_is_answered_has_acted() -> None:
    """The page says "your turn" before it asks the question. A learner who acts at once need not
    act again.
    """
    look, pause, end = YOURS.steps
    start = pause._replace(acts=(ScriptAct("pause", {"broker": 2}, 1),), ask=ASK)
    at = Presentation(YOURS._replace(steps=(look, start, end)), live=True)
    at.begin()
    for number in range(1, 4):
        at.go_on(number)
        at.after_seen(number)
    assert (at.step, at.phase) == (1, Phase.NARRATION)
    at.go_on(6_000)
    acted(at, "pause", 2, 7_000)
    at.apply(paused(2, 7_001))
    at.choose(1, 8_000)
    at.go_on(9_000)
    assert (at.waits, at.your_turn, at.names["who"]) == (False, False, "2")


def test_an_act_that_the_learner_has_done_is_not_asked_for_again() -> None:
    _, pause, end = YOURS.steps
    start = pause._replace(acts=(ScriptAct("pause", {"broker": 2}, 1),))
    at = Presentation(YOURS._replace(steps=(start, end)), live=True)
    at.begin()
    at.go_on(1)
    assert at.your_turn
    acted(at, "pause", 2, 6_000)
    assert at.waits, "the event is still to come"
    assert not at.your_turn
    assert texts(at, Role.HINT)[0].startswith("waits until it has happened")


def test_the_space_key_helps_a_learner_who_does_not_act() -> None:
    at = at_your_turn()
    assert at.go_on(6) == [Perform(PAUSE)]
    assert not at.your_turn
    assert at.act_done() == []
    assert at.waits, "the event is still to come"


def test_an_act_for_the_learner_that_is_refused_is_tried_again() -> None:
    at = at_your_turn()
    at.go_on(6)
    at.act_failed("partition web-0 has no leader now")
    assert at.go_on(7) == [Perform(PAUSE)]


@pytest.mark.parametrize(
    ("choice", "answer", "recap"),
    [
        (1, "No, choice 2. Think of broker 1.\nIt was broker 1.", ["step 2 · Who?"]),
        (2, "Yes. It was broker 1.", []),
        (0, "Choice 2. It was broker 1.", []),
    ],
)
def test_a_wrong_choice_gets_its_reply_and_returns_on_the_last_page(
    choice: int, answer: str, recap: list[str]
) -> None:
    ask = ASK._replace(replies=("Think of broker {victim}.", ""))
    look, kill = SCRIPT.steps
    at = Presentation(SCRIPT._replace(steps=(look, kill._replace(ask=ask))), live=False)
    while at.phase is not Phase.QUESTION:
        at.go_on(0)
        if at.waits:
            at.go_on(0)
    if choice:
        at.choose(choice, 0)
    at.go_on(0)
    at.apply(happened(ended(1), 5))
    at.go_on(6)
    at.go_on(7)
    assert at.phase is Phase.ANSWER
    assert [line.text for line in page(at) if line.role is Role.ANSWER] == [answer]
    at.go_on(8)
    assert at.phase is Phase.END
    assert [line.text for line in page(at) if line.role is Role.QUESTION] == recap
    assert [f"step {each.step} · {each.question}" for each in at.missed()] == recap


def test_what_was_missed_is_recalled_at_the_beginning_of_the_next_script(tmp_path: Path) -> None:
    store = MissedBefore(tmp_path / "before.toml", tmp_path)
    assert store.load() == []
    missed = [Missed(2, "Who?", "broker 1"), Missed(5, "When?", "after the session")]
    store.save(missed)
    assert MissedBefore(tmp_path / "other.toml", tmp_path).load() == [], "one file a script"
    at = Presentation(SCRIPT, live=False, missed_before=store.load())
    first = [line.text for line in page(at)]
    assert "You expected something else in the chapter before:" in first
    assert [line.text for line in page(at) if line.role is Role.SEEN] == [
        "✓ broker 1",
        "✓ after the session",
    ]
    at.go_on(10)
    at.shown = 1
    assert "You expected something else in the chapter before:" not in [
        line.text for line in page(at)
    ]
    store.save([])
    assert store.load() == []
    store.path.write_text("[", encoding="utf-8")
    assert store.load() == [], "a broken file counts as none"


def test_a_reader_sees_no_braces_where_nothing_is_known_yet() -> None:
    step = Step("Look", "Broker {victim} of {rows:,} rows is gone.")
    at = Presentation(Script("T", (step,)), live=True)
    assert "Broker … of … rows is gone." in [line.text for line in page(at)]
    at.names |= {"victim": "2", "rows": "1234"}
    assert "Broker 2 of 1,234 rows is gone." in [line.text for line in page(at)]


GUESS = Script(
    "T",
    (
        Step(
            "How long",
            "A broker dies.",
            ask=Question(
                "How long?", (), 0, "So it was.", number=Number("later-ended", "ms", within=2)
            ),
            expectations=(
                Expectation("it ended", "ProcessEnded", bind={"ended": "@ms"}),
                Expectation("it is gone", "BrokerFailed", bind={"later": "@ms"}),
            ),
        ),
    ),
)


def after_typing(typed: str, *, sure: int = 0) -> Presentation:
    """A number is typed, and the truth is 6,000 ms."""
    at = Presentation(GUESS, live=True)
    at.go_on(1)
    for digit in typed:
        at.choose(int(digit), 2)
    at.go_on(3)
    if typed:
        at.choose(sure, 4) if sure else at.go_on(4)
    at.apply(happened(ended(1), 5_000_000))
    at.apply(happened(BrokerFailed(broker_id=1, shutting_down=False), 11_000_000))
    at.after_seen(20_000_000)
    assert at.phase is Phase.ANSWER
    return at


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("", "It is 6,000 ms. So it was."),
        ("6000", "Yes. So it was."),
        ("3000", "Yes, near enough: 6,000 ms. So it was."),
        ("12000", "Yes, near enough: 6,000 ms. So it was."),
        ("2999", "No, it is 6,000 ms: 2 times more than you said. So it was."),
        ("30000", "No, it is 6,000 ms: 5 times less than you said. So it was."),
        ("0", "No, it is 6,000 ms: more than you said. So it was."),
    ],
)
def test_a_typed_number_is_judged_by_its_nearness(typed: str, answer: str) -> None:
    at = after_typing(typed)
    assert texts(at, Role.ANSWER) == [answer]
    assert "✓ 6,000 ms" in texts(at, Role.SEEN)
    assert bool(at.missed()) == answer.startswith("No")


def test_a_number_is_seen_while_it_is_typed_and_can_be_mended() -> None:
    at = Presentation(GUESS, live=True)
    at.go_on(1)
    assert not at.erase()
    for digit in "617":
        assert at.choose(int(digit), 2) == []
    assert texts(at, Role.CHOICE) == ["  617▁ ms"]
    assert "[enter] answers" in texts(at, Role.HINT)[0]
    assert at.erase()
    assert texts(at, Role.CHOICE) == ["  61▁ ms"]
    assert at.go_on(3) == []
    assert texts(at, Role.CHOSEN) == ["▶ 61 ms"]
    assert at.choose(4, 3) == [], "there is no fourth way to be sure"
    assert at.choose(3, 3) == [Watch()]
    assert at.place().sure == {0: 3}
    assert at.place().choices == {0: 61}


def test_who_was_sure_and_wrong_hears_it_first_and_how_often_it_was_so() -> None:
    at = after_typing("1", sure=3)
    at.go_on(30_000_000)
    shown = [line.text for line in page(at)]
    assert "step 1 · How long? (you were sure)" in shown
    assert "✓ 6,000 ms" in shown
    assert "How sure you were · sure: 0 of 1 right" in shown
    assert at.missed()[0].sure == 3
    right = after_typing("6000", sure=1)
    right.go_on(30_000_000)
    assert "How sure you were · a guess: 1 of 1 right" in [line.text for line in page(right)]


def test_numbers_that_are_not_known_or_not_numbers_are_near_to_nothing() -> None:
    number = Number("a", within=9)
    assert number.value({}) is None
    assert not number.is_near(1, {})
    assert not number.is_near(1, {"a": "1.5"})
    assert number.is_near(0, {"a": "0"})
    assert not Number("a").is_near(11, {"a": "10"})
    assert number.words(None) == "…"


def test_two_runs_stand_side_by_side_when_both_are_known() -> None:
    rows = (
        CompareRow("a produce took", (Number("took_a", "µs"), Number("took_b", "µs"))),
        CompareRow("lost", (Number("lost_a"), Number("lost_b"))),
    )
    both = Step("Both", "Look.", compare=Comparison(("acks=1", "acks=all"), rows))
    at = Presentation(Script("T", (both,)), live=True)
    at.names |= {"took_a": "850", "took_b": "403000", "lost_a": "12"}
    at.go_on(1)
    assert texts(at, Role.COMPARED) == [
        "                   acks=1     acks=all",
        "  a produce took   850 µs   403,000 µs",
        "  lost                 12            …",
    ]


def test_a_step_begins_again_when_the_simulated_cluster_has_gone_back() -> None:
    at = at_the_question()
    assert not at.may_begin_again(), "a real cluster does not go back"
    at.rewinds = True
    assert not at.may_begin_again(), "this step has done nothing yet"
    at.choose(1, 30)
    at.go_on(40)
    at.act_done()
    at.apply(happened(ended(1), 41))
    assert (at.may_begin_again(), at.began_us(at.shown)) == (True, 20)
    assert texts(at, Role.HINT)[0].endswith("[backspace] back · [R] this step again")
    assert at.went_back(41) is None, "it acted before"
    assert at.went_back(20) == [ShowScreen("controller")]
    assert (at.step, at.phase, at.names, at.choices) == (1, Phase.NARRATION, {}, {})
    at.apply(happened(ended(2), 42))
    at.back()
    assert at.may_begin_again()
    assert at.went_back(at.began_us(at.shown)) == [ShowScreen("cluster")]
    assert (at.step, at.phase, at.moments) == (0, Phase.NARRATION, {})
    assert at.load() is None, "its load has not begun yet"
