"""Sentences for the supervisor's events."""

from kafka_edu.common.link_faults import Link, LinkFault
from kafka_edu.common.words import duration
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import brokers, process_name, quiet
from kafka_edu.trace.events import supervisor


@sentence.register
def supervisor_started(e: supervisor.SupervisorStarted) -> Sentence:
    zookeeper = {"embedded": "embedded ZooKeeper", "apache": "Apache's ZooKeeper"}.get(
        e.zookeeper, f"ZooKeeper at {e.zookeeper}"
    )
    return quiet(
        f"starts cluster {e.cluster}",
        after=f"with {brokers(e.brokers)} and {zookeeper}",
        because=f"cluster {e.cluster} was started",
    )


@sentence.register
def process_started(e: supervisor.ProcessStarted) -> Sentence:
    return Sentence(
        f"{process_name(e.process)} started",
        after=f"as process {e.pid}",
        because=f"{process_name(e.process)} started",
    )


@sentence.register
def process_ended(e: supervisor.ProcessEnded) -> Sentence:
    how = (
        f"killed by {e.signal}"
        if e.signal
        else "ended"
        if e.code == 0
        else f"ended with code {e.code}"
    )
    return Sentence(
        f"{process_name(e.process)} {how}",
        reason="somebody asked for it" if e.asked else e.reason or "nobody asked for it",
        because=f"{process_name(e.process)} was {how}",
    )


@sentence.register
def process_paused(e: supervisor.ProcessPaused) -> Sentence:
    return Sentence(
        f"{process_name(e.process)} paused",
        after="(SIGSTOP): it holds its sockets and answers nothing",
    )


@sentence.register
def process_resumed(e: supervisor.ProcessResumed) -> Sentence:
    return Sentence(f"{process_name(e.process)} goes on", after="(SIGCONT)")


@sentence.register
def process_stalled(e: supervisor.ProcessStalled) -> Sentence:
    return Sentence(
        f"{process_name(e.process)} stands still", after=f"for {duration(e.for_ms)}: a stall"
    )


@sentence.register
def process_stall_over(e: supervisor.ProcessStallOver) -> Sentence:
    return Sentence(f"{process_name(e.process)} goes on", after="after a stall")


@sentence.register
def zoo_keeper_mode_changed(e: supervisor.ZooKeeperModeChanged) -> Sentence:
    does = {"leader": "leads", "follower": "follows"}.get(e.mode, "serves nobody")
    return Sentence(f"{process_name(e.process)} {does}")


@sentence.register
def cluster_ready(e: supervisor.ClusterReady) -> Sentence:
    return Sentence(
        f"cluster ready after {duration(e.after_ms)}",
        after=f"with {brokers(e.brokers)}; broker {e.controller} is the controller",
    )


@sentence.register
def action_asked(e: supervisor.ActionAsked) -> Sentence:
    return Sentence(
        f"asked to {e.action}",
        str(e.target) if e.target.broker is not None else "",
        because=f"somebody asked to {e.action} it",
        loud=False,
    )


@sentence.register
def link_changed(e: supervisor.LinkChanged) -> Sentence:
    fault = LinkFault(e.delay_ms, e.cut)
    words = f"the link {Link(e.broker, e.other, e.side)} is {fault}"
    return Sentence(words, because=words)


@sentence.register
def action_done(e: supervisor.ActionDone) -> Sentence:
    # Not for the ticker: the event of the process itself says that it started, ended or was paused.
    return Sentence(
        f"{'✓ done' if e.ok else '✗ refused'}: {e.action}",
        after=process_name(e.message),
        loud=not e.ok,
    )
