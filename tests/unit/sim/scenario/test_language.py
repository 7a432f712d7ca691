"""The language of scenario files: what can be written in it, and the messages about mistakes."""

import re
from pathlib import Path

import pytest

from kafka_edu.sim.scenario.acts import VERBS, Act, draw, parse_act
from kafka_edu.sim.scenario.language import (
    Scenario,
    ScenarioError,
    learner_part,
    parse,
    process_names,
    read,
)
from kafka_edu.sim.seeded_random import SeededRandom

TEXT = """\
# What it is for.
# A second line.
> cluster brokers=3 min.insync.replicas=2
> vary sim.latency.ms=1|10 replica.fetch.max.bytes=1|2000
> topic t partitions=4 rf=3
> topic u partitions=1 rf=2 cleanup.policy=compact
> producer p topic=t rate=40
> producer q topic=u acks=1 keys=5 deletes=10 idempotent=false
> consumer c topic=t
> group g topic=t members=3
> transactions x topic=t rate=60 instances=2
> faults kill pause cut every=300ms..2s
> run 8s
> settle 8s
"""
SHIPPED = sorted(
    (Path(__file__).resolve().parents[4] / "kafka_edu/sim/scenarios").glob("*.sim"),
    key=lambda path: path.name,
)


def test_a_scenario_is_what_its_file_says() -> None:
    scenario = parse(TEXT, "test")
    assert scenario.about == ("What it is for.", "A second line.")
    assert scenario.brokers == 3
    assert dict(scenario.properties) == {"min.insync.replicas": "2"}
    assert [topic.partitions for topic in scenario.topics] == [4, 1]
    assert [client.kind for client in scenario.clients] == [
        "producer",
        "producer",
        "consumer",
        "group",
        "transactions",
    ]
    assert scenario.clients[1].acks == "1"
    assert scenario.clients[1].deletes == 10
    assert process_names(scenario.clients[3]) == ["g-1", "g-2", "g-3"]
    assert process_names(scenario.clients[4]) == ["x1", "x2"]
    assert not scenario.clients[1].idempotent
    assert scenario.faults.verbs == ("kill", "pause", "cut")
    assert scenario.faults.every_ms == (300, 2_000)
    assert (scenario.run_ms, scenario.settle_ms) == (8_000, 8_000)


def test_a_scenario_can_be_written_and_read_back() -> None:
    scenario = parse(TEXT, "test")
    assert parse(scenario.text(), "test") == scenario
    acts = (Act(3_412, "kill", (2,), 4_100), Act(5_000, "slow-link", (1, 3), 800, 90))
    fixed = scenario.with_acts(17, acts)
    assert fixed.variations == ()
    assert fixed.properties == scenario.properties_for(17)
    assert "> seed 17\n> at 3.412s kill 2 for 4.1s\n" in fixed.text()
    assert parse(fixed.text(), "test") == fixed
    written = parse(f"{fixed.text()}> digest 3.11 4f1a\n> code 27b1\n", "test")
    assert (written.digests, written.code) == ((("3.11", "4f1a"),), "27b1")
    assert (written.with_acts(17, acts).digests, written.with_acts(17, acts).code) == ((), "")


def test_each_seed_draws_its_settings() -> None:
    scenario = parse(TEXT, "test")
    drawn = {scenario.properties_for(seed) for seed in range(40)}
    assert len(drawn) == 4
    assert {dict(one)["sim.latency.ms"] for one in drawn} == {"1", "10"}
    assert all(dict(one)["min.insync.replicas"] == "2" for one in drawn)
    assert scenario.properties_for(3) == scenario.properties_for(3)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_each_shipped_scenario_says_what_it_is_for(path: Path) -> None:
    scenario = read(path)
    assert scenario.about
    assert scenario.faults.verbs
    assert "lose-tail" not in scenario.faults.verbs, "Kafka loses acked records there too"
    assert parse(scenario.text(), scenario.name) == scenario._replace(digests=())


def test_there_are_five_general_scenarios() -> None:
    assert [path.stem for path in SHIPPED] == [
        "cleaner",
        "controller",
        "groups",
        "replication",
        "transactions",
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("> cluster brokers=3 min.insync.replicas=2\n", "", "line 3.*first command must be"),
        ("sim.latency.ms=1|10", "sim.latency.ms=1|fast", "sim.latency.ms=fast is not a whole"),
        ("max.bytes=1|2000", "max.bytes=1", "replica.fetch.max.bytes needs two values or more"),
        ("> vary sim", "> vary min.insync.replicas=1|2 sim", "fixed in the line of the cluster"),
        ("deletes=10", "deletes=all", "deletes=all is not a whole number"),
        ("instances=2", "instances=0", "instances=0 is not a whole number"),
        ("brokers=3", "brokers=0", "brokers=0 is not a whole number from 1 to 9"),
        ("partitions=4", "partitions=many", "partitions=many is not a whole number"),
        ("topic=t rate=40", "topic=none rate=40", "no topic 'none' stands above this line"),
        ("> producer p topic=t rate=40", "> producer p", "say which topic"),
        ("rate=40", "speed=40", "producer has no option 'speed'"),
        ("> producer q", "> producer p", "two clients have the name 'p'"),
        ("acks=1", "acks=2", "acks=2 is not all, 1 or 0"),
        ("idempotent=false", "idempotent=true", "only with acks=all it can be true"),
        ("> faults kill", "> faults burn", "there is no fault 'burn'"),
        ("every=300ms..2s", "every=2s..300ms", "every= is a range"),
        ("> run 8s\n", "", "a line is missing. Write: > run 10s"),
        ("> run 8s", "> run 8", "'8' is no time"),
        ("> settle 8s", "> rest 8s", "there is no command 'rest'"),
        ("> run 8s", "> at 3s kill 9 for 1s", "there is no broker 9: they are 1 to 3"),
        ("> run 8s", "> seed many", "seed=many is not a whole number"),
        ("> run 8s", "> digest", "a digest has a version of Python"),
        ("> run 8s", "> run 0s", "line 13.*0 is too short: run 10s"),
        ("> run 8s", "> run 8s slowly=1", "run has no option 'slowly'; it has none"),
        ("> run 8s", "> run 8s\n> run 9s", "line 14.*a second line 'run'"),
        ("> run 8s", "> at 8s kill 1 for 1s\n> run 8s", "line 13.*would never begin"),
        ("every=300ms", "evry=300ms", "faults has no option 'evry'; it has every"),
        ("min.insync.replicas=2", "min.insink.replicas=2", "did you mean min.insync.replicas"),
        ("max.bytes=1|2000", "max.bytes=1|many", "line 4.*Invalid value many"),
        ("> topic u", "> topic t", "line 6.*two topics have the name 't'"),
        ("cleanup.policy=compact", "cleanup.policy=smaller", "line 6.*Invalid value smaller"),
        ("keys=5 ", "", "line 8.*u is compacted, so it refuses records without a key"),
        ("x topic=t", "x topic=u", "line 11.*write a producer with keys=12 instead"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_with_what_to_write(
    old: str, new: str, said: str
) -> None:
    assert TEXT.count(old) == 1
    with pytest.raises(ScenarioError, match=f"(?s){said}"):
        parse(TEXT.replace(old, new), "test")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("cut", "line 3.*the fault cut takes 2 of the brokers, and the scenario has 1"),
        ("slow-client", "line 3.*slow-client takes 1 of the clients, and the scenario has 0"),
    ],
)
def test_a_fault_for_which_the_scenario_is_too_small_is_named(fault: str, said: str) -> None:
    text = "> cluster brokers=1\n> topic t partitions=1 rf=1\n> faults {}\n> run 1s\n> settle 1s\n"
    with pytest.raises(ScenarioError, match=f"(?s){said}"):
        parse(text.format(fault), "test")
    assert parse(text.format("kill"), "test").faults.verbs == ("kill",)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot read"):
        read(tmp_path / "none.sim")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("kill 2", "begins with its time"),
        ("at 3s burn 2", "there is no act 'burn'"),
        ("at 3s start 2 for 2s", "start has no `for`"),
        ("at 3s heal 2", "heal needs 2 broker ids"),
        ("at 3s kill for 2s", "kill needs 1 broker ids"),
        ("at 3s cut 1 for 2s", "cut needs 2 broker ids"),
        ("at 3s expire-session 1 for 2s", "expire-session has no `for`"),
        ("at 3s slow-link 1 2 for 2s", "slow-link needs `by`"),
    ],
)
def test_a_wrong_act_is_named(line: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_act(line.split())


def test_each_act_can_be_read_back() -> None:
    acts = draw(SeededRandom("acts"), list(VERBS), (1, 2, 3), 4, 60_000, (100, 500))
    assert {act.verb for act in acts} == set(VERBS)
    by_hand = [Act(3_000, "kill", (2,)), Act(4_000, "start", (2,)), Act(5_000, "heal", (1, 2))]
    assert [parse_act(str(act).split()) for act in acts + by_hand] == acts + by_hand


def test_a_seed_draws_the_same_acts_again() -> None:
    def drawn(seed: str) -> list[Act]:
        return draw(SeededRandom(seed), ["kill", "cut"], (1, 2, 3), 0, 8_000, (300, 2_000))

    assert drawn("1") == drawn("1")
    assert drawn("1") != drawn("2")
    assert all(0 < act.at_ms < 8_000 for act in drawn("1"))


def test_a_scenario_with_acts_has_no_faults_by_chance() -> None:
    scenario: Scenario = parse(TEXT, "test").with_acts(4, [Act(1_000, "reset-clients", ())])
    assert scenario.faults.verbs == ()
    assert scenario.seed == 4


def test_a_learners_part_is_a_line_and_its_path_may_have_spaces(tmp_path: Path) -> None:
    file = tmp_path / "my 100% wheel.py"
    file.write_text("", encoding="utf-8")
    part = learner_part("02-1", str(file), [3, 1])
    text = parse(TEXT, "test")._replace(learners=(part,)).text()
    assert "my%20100%25%20wheel.py brokers=1,3" in text
    assert parse(text, "test").learners == (part,)
    assert part.serves_in(3)
    assert not part.serves_in(2)
    assert learner_part("02-1", str(file)).serves_in(2)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("learner 02-1", "say which file: learner 02-1 file="),
        ("learner file=x.py", "one name or number belongs here: learner 02-1"),
        ("learner 12-1 file=x.py", "no part of a simulated broker belongs to exercise '12-1'"),
        ("learner 09-5 file=x.py", "the parts are those of 02-1, "),
        ("learner 02-1 file=/none/x.py", "there is no file /none/x.py"),
        ("learner 02-1 file=x.py brokers=4", "brokers=4 is not a whole number from 1 to 3"),
    ],
)
def test_a_learners_part_that_is_not_possible_is_said(line: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(said)):
        parse(f"> cluster brokers=3\n> {line}\n", "test")
