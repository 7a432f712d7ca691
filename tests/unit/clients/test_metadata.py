"""A client's metadata: when the client must ask for it, and what a new answer changes."""

from kafka_edu.clients.metadata import NEVER, NO_LEADER, Metadata
from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from tests.unit.clients.producer.parts import Core


def metadata() -> Metadata:
    return Metadata([("a", 1), ("b", 2)], 100, 1_000, 5_000)


def test_it_begins_with_the_bootstrap_servers_and_asks_when_a_topic_is_used() -> None:
    known = metadata()
    assert sorted(known.nodes) == [-2, -1]
    assert known.next_update_ms(0) == NEVER
    assert known.use("t", 0) is None
    assert known.next_update_ms(0) == 0
    request = known.request(0)
    assert [topic.name for topic in request.topics or []] == ["t"]
    assert known.next_update_ms(0) == NEVER  # one is in flight


def test_an_update_is_due_after_max_age_and_a_failed_one_after_the_backoff() -> None:
    known, core = metadata(), Core()
    known.use("t", 0)
    known.request(0)
    known.update(core.metadata_answer(), 0)
    assert known.leader("t", 0) == 1
    assert known.leader("t", 1) == NO_LEADER
    assert known.next_update_ms(400) == 600
    known.request_update()
    assert known.next_update_ms(40) == 60
    known.request(100)
    known.update_failed(100)
    assert known.next_update_ms(130) == 70


def test_an_older_leader_epoch_replaces_no_newer_one() -> None:
    known, core = metadata(), Core(brokers=(1, 2))
    known.use("t", 0)
    core.leaders[0] = (2, 5)
    known.update(core.metadata_answer(), 0)
    core.leaders[0] = (1, 4)
    known.update(core.metadata_answer(), 1)
    assert known.leader("t", 0) == 2


def test_an_answer_without_some_partitions_moves_no_other_partition_to_their_place() -> None:
    """A broker that has just started may leave out partitions, because it does not know them
    yet.
    """
    known, core = metadata(), Core(brokers=(1, 2))
    known.use("t", 0)
    core.leaders = {0: (1, 0), 1: (1, 0), 2: (2, 5)}
    whole = core.metadata_answer()
    core.leaders = {0: (1, 0), 2: (2, 5)}
    known.request(0)
    known.update(core.metadata_answer(), 0)
    assert [known.leader("t", index) for index in range(4)] == [1, NO_LEADER, 2, NO_LEADER]
    assert known.next_update_ms(0) == 100, "the answer was not whole"
    known.update(whole, 0)
    assert [known.leader("t", index) for index in range(3)] == [1, 1, 2]
    core.leaders = {2: (2, 6)}
    known.update(core.metadata_answer(), 1)
    assert [known.leader("t", index) for index in range(3)] == [1, 1, 2], "what is known stays"


def test_a_partition_without_a_live_leader_is_asked_for_again() -> None:
    known, core = metadata(), Core()
    known.use("t", 0)
    known.request(0)
    core.leaders[0] = (9, 1)  # broker 9 is not among the brokers of the answer
    known.update(core.metadata_answer(), 0)
    assert known.leader("t", 0) == NO_LEADER
    assert known.topics["t"].available == ()
    assert known.next_update_ms(0) == 100


def test_a_topic_with_an_error_is_known_by_its_error() -> None:
    known, core = metadata(), Core()
    known.use("t", 0)
    core.topic_error = Errors.INVALID_TOPIC_EXCEPTION
    known.request(0)
    known.update(core.metadata_answer(), 0)
    assert known.errors == {"t": Errors.INVALID_TOPIC_EXCEPTION}
    assert known.next_update_ms(0) == 1_000  # asking again cannot help


def test_an_answer_without_brokers_is_ignored() -> None:
    known, core = metadata(), Core()
    known.use("t", 0)
    known.request(0)
    core.brokers = ()
    known.update(core.metadata_answer(), 0)
    assert sorted(known.nodes) == [-2, -1]
    assert known.version == 0
    assert known.next_update_ms(0) == 100


def test_the_program_can_forbid_that_a_broker_creates_topics() -> None:
    for allowed in (True, False):
        known = Metadata([("a", 1)], 100, 1_000, 5_000, allow_auto_creation=allowed)
        known.use("t", 0)
        assert known.request(0).allow_auto_topic_creation is allowed


def all_topics(*names: str) -> MetadataResponse:
    answer = Core().metadata_answer()
    [t] = answer.topics
    answer.topics = [
        MetadataResponseTopic(
            error_code=0, name=name, is_internal=name.startswith("__"), partitions=t.partitions
        )
        for name in names
    ]
    return answer


def test_with_a_pattern_all_topics_are_asked_for_and_some_are_kept() -> None:
    known = metadata()
    known.use("mine", 0)
    known.request(0)
    known.update(all_topics("mine"), 0)
    known.ask_for_all(lambda topic, internal: topic.startswith("t") or internal)
    assert known.next_update_ms(1) == 0  # a new wish does not wait for the backoff
    request = known.request(1)
    assert (request.topics, request.allow_auto_topic_creation) == (None, True)
    known.update(all_topics("other", "t2", "t1", "__x"), 1)
    assert known.retained == ("t2", "t1", "__x")
    assert known.retained_version == known.version == 2
    assert known.topics.keys() == {"t1", "t2", "__x"}
    assert known.errors == {"mine": Errors.UNKNOWN_TOPIC_OR_PARTITION}
    assert known.next_update_ms(1) == 1_000
    known.request(1_001)
    known.update(all_topics("mine", "t2"), 1_001)
    assert known.retained == ("t2",)
    assert known.topics.keys() == {"mine", "t2"}
    assert known.errors == {}


def test_an_answer_about_named_topics_says_nothing_about_the_others() -> None:
    known = metadata()
    known.use("mine", 0)
    known.request(0)
    known.ask_for_all(lambda topic, internal: True)
    known.update(all_topics("mine"), 0)
    assert (known.retained, known.retained_version) == ((), 0)
    assert known.next_update_ms(0) == 0
    known.request(0)
    known.update(all_topics("mine", "t"), 0)
    known.ask_for_all(None)
    known.use("new", 1)
    assert {topic.name for topic in known.request(100).topics or []} == {"mine", "new"}
    assert known.topics.keys() == {"mine"}
    known.update(all_topics("mine", "new"), 100)
    assert known.retained == ()


def test_an_idle_topic_is_left_out() -> None:
    known, core = metadata(), Core()
    known.use("t", 0)
    known.request(0)
    known.update(core.metadata_answer(), 0)
    known.use("other", 4_999)
    request = known.request(5_000)
    assert [topic.name for topic in request.topics or []] == ["other"]
    assert "t" not in known.topics
