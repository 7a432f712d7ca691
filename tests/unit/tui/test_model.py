"""Questions to the whole model: is a thing known, and how old is it?"""

from kafka_edu.instruments.rebalances import GroupStory
from kafka_edu.trace.event import SUPERVISOR, Source
from kafka_edu.trace.events.controller import (
    ActiveControllerChanged,
    ControllerElected,
    ControllerSnapshot,
)
from kafka_edu.trace.events.log import LogCreated, LogState, SegmentState
from kafka_edu.trace.events.replication import (
    BecameLeader,
    PartitionOffsets,
    PartitionProgress,
)
from kafka_edu.trace.events.server import BrokerStateChanged
from kafka_edu.trace.events.supervisor import ProcessStarted
from kafka_edu.trace.events.trace import SnapshotEnds
from tests.unit.tui.story_of_events import Story
from tests.unit.tui.usual_events import runs
from tui.model import Model
from tui.view_model.log_view import LogName
from tui.view_model.partition_view import PartitionKey

WEB = PartitionKey("web", 0)


def followed(model: Model, story: Story) -> Model:
    model.apply(story.envelopes)
    story.envelopes.clear()
    return model


def test_only_the_controller_itself_tells_of_its_queue_and_its_decisions() -> None:
    story, model = Story(), Model("demo")
    for broker in (0, 1):
        story.tell(SUPERVISOR, runs(broker))
    story.tell(1, ActiveControllerChanged(controller_id=0))
    story.tell(1, SnapshotEnds(events=0))
    followed(model, story)
    assert model.cluster.controller == 0
    assert model.controller_unknown() == "reading the state of broker 0"
    snapshot = ControllerSnapshot(
        active=False, controller_id=0, epoch=1, epoch_zk_version=1, queue_size=0
    )
    story.tell(0, SnapshotEnds(events=0))
    followed(model, story)
    assert model.controller_unknown() == "its snapshot has not come"
    story.tell(0, snapshot._replace(active=True))
    assert followed(model, story).controller_unknown() == ""


def test_a_cluster_without_a_controller_is_known_to_have_none() -> None:
    story, model = Story(), Model("demo")
    story.tell(SUPERVISOR, runs(0))
    story.tell(0, SnapshotEnds(events=0))
    assert followed(model, story).controller_unknown() == ""
    story.tell(0, ControllerElected(epoch=1, epoch_zk_version=1))
    assert followed(model, story).controller_unknown() == ""


def test_brokers_that_have_sent_nothing_for_some_time() -> None:
    story, model = Story(), Model("demo")
    progress = PartitionProgress(log_start=0, hw=5, leo=5, remote_leos=(), min_isr=1)
    for broker in (0, 1):
        story.tell(SUPERVISOR, runs(broker))
        story.tell(broker, PartitionOffsets(topic="web", partition=0, progress=progress))
    followed(model, story)
    assert (model.unheard(), model.silence()) == ({}, "")
    story.now_ms += 12_000
    story.tell(1, PartitionOffsets(topic="web", partition=0, progress=progress))
    followed(model, story)
    assert model.unheard() == {0: 12_000_000}
    assert model.silence() == "broker 0 has sent nothing for 12 s"
    model.late_us = 11_500_000
    assert model.silence() == "", "it is we who are late"


def test_of_a_time_with_facts_only_the_size_of_a_log_is_not_known() -> None:
    story, model = Story(), Model("demo")
    story.tell(1, LogCreated(topic="web", partition=0, log_dir="/d"))
    log = followed(model, story).logs[LogName(1, WEB)]
    assert not model.size_unknown(log), "it has just been created, and is empty"
    model.cluster.facts_only = True
    assert model.size_unknown(log)
    state = LogState(
        topic="web",
        partition=0,
        log_dir="/d",
        log_start_offset=0,
        recovery_point=0,
        log_end_offset=40,
        segments=(SegmentState(0, 900, 2, 2),),
        leader_epochs=(),
        producers=0,
    )
    story.tell(1, state)
    assert not followed(model, story).size_unknown(model.logs[LogName(1, WEB)])


def test_of_a_time_with_facts_only_what_samples_report_is_not_known() -> None:
    """The view has seen the broker's start, so the broker's state is known without a snapshot."""
    story, model = Story(), Model("demo")
    started = ProcessStarted(process="broker-1", child=Source.of_broker(1), pid=101)
    story.tell(SUPERVISOR, started)
    story.tell(1, BrokerStateChanged(broker_id=1, before="Starting", after="RunningAsBroker"))
    followed(model, story)
    broker = model.cluster.brokers.by_id[1]
    model.advance(story.now_ms * 1000 + 9_000_000)
    assert (model.unknown(), model.unsampled()) == ("", "")
    assert model.cluster.status(broker) == ("? silent for 9.0 s", "")
    model.cluster.facts_only = True
    assert model.unknown() == ""
    assert model.unsampled() == "not known: of this time there are facts only, and no sample"
    assert model.cluster.status(broker) == ("", "")
    progress = PartitionProgress(log_start=0, hw=5, leo=5, remote_leos=(), min_isr=1)
    story.tell(1, PartitionOffsets(topic="web", partition=0, progress=progress), after_ms=9_000)
    followed(model, story)
    assert model.unsampled() == ""


def test_how_far_a_group_is_behind_is_not_known_before_a_sample() -> None:
    story, model = Story(), Model("demo")
    story.tell(
        1,
        BecameLeader(
            topic="web",
            partition=0,
            leader_epoch=0,
            controller_epoch=1,
            start_offset=0,
            high_watermark=0,
            isr=(1,),
            replicas=(1,),
            zk_version=0,
        ),
    )
    told = followed(model, story).groups.rebalances
    group = GroupStory("shop")
    group.offsets[WEB] = 3
    assert told.lag(group, WEB) is None
    [row] = model.groups.offsets(group)
    assert (row.committed, row.hw, row.lag) == (3, None, None)
    progress = PartitionProgress(log_start=0, hw=5, leo=5, remote_leos=(), min_isr=1)
    story.tell(1, PartitionOffsets(topic="web", partition=0, progress=progress))
    assert followed(model, story).groups.rebalances.lag(group, WEB) == 2
