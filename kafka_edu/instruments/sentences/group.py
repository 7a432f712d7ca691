"""Sentences for the events of consumer groups."""

from kafka_edu.common.words import duration, joined, plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import member_name, quiet, why
from kafka_edu.trace.events import group


@sentence.register
def group_state_changed(e: group.GroupStateChanged) -> Sentence:
    return Sentence(
        f"group {e.group} {e.before} → {e.after}",
        because=f"group {e.group} was {e.before}",
        exact=f"group {e.group}: {e.before} → {e.after}, {e.members} members",
        loud=False,
    )


@sentence.register
def rebalance_started(e: group.RebalanceStarted) -> Sentence:
    whose = f" of {e.member}" if e.member else ""
    return Sentence(
        f"group {e.group} rebalances",
        after=f"(generation {e.generation} ends)",
        reason="" if e.member else e.reason,
        because=f"group {e.group} rebalances",
        exact=f"group {e.group} rebalances{whose}{why(e.reason)}",
    )


@sentence.register
def rebalance_completed(e: group.RebalanceCompleted) -> Sentence:
    members = plural(len(e.members), "member")
    return Sentence(
        f"group {e.group} begins generation {e.generation}",
        after=f"with {members}",
        because="all members have joined",
        exact=(
            f"group {e.group} begins generation {e.generation} with"
            f" {joined(e.members) or 'no member'}"
        ),
    )


@sentence.register
def group_assigned(e: group.GroupAssigned) -> Sentence:
    return Sentence(
        f"group {e.group} has its assignment",
        after=f"by the leader {member_name(e.leader)}",
        because="the leader sent the assignment",
    )


@sentence.register
def member_id_given(e: group.MemberIdGiven) -> Sentence:
    return quiet(
        f"group {e.group}: gives an id to",
        member_name(e.member),
        "which has to join again with it",
        exact=(
            f"group {e.group}: gives the id {e.member} to {e.client_id or 'a client'} at"
            f" {e.client_host}, which has to join again with it"
        ),
    )


@sentence.register
def member_joined(e: group.MemberJoined) -> Sentence:
    name = member_name(e.member)
    return Sentence(
        f"group {e.group}:",
        name,
        "joins",
        because=f"{name} joined {e.group}",
        exact=f"group {e.group}: {e.member} joins, {e.members} members now",
    )


@sentence.register
def member_updated(e: group.MemberUpdated) -> Sentence:
    name = member_name(e.member)
    changed = " with another subscription" if e.topics or e.topics_before else ""
    return Sentence(
        f"group {e.group}:",
        name,
        f"joins again{changed}",
        because=f"{name} joined {e.group} again{changed}",
        loud=bool(changed),
    )


@sentence.register
def member_left(e: group.MemberLeft) -> Sentence:
    name = member_name(e.member)
    return Sentence(
        f"group {e.group}:",
        name,
        "leaves",
        because=f"{name} left {e.group}",
        exact=f"group {e.group}: {e.member} leaves",
    )


@sentence.register
def member_failed(e: group.MemberFailed) -> Sentence:
    name = member_name(e.member)
    return Sentence(
        f"group {e.group}:",
        name,
        "is removed",
        reason=e.reason,
        because=f"{name} fell silent",
        exact=f"group {e.group}: {e.member} is removed{why(e.reason)}",
    )


@sentence.register
def static_member_replaced(e: group.StaticMemberReplaced) -> Sentence:
    return Sentence(
        f"group {e.group}: static member",
        e.instance,
        f"is back as {member_name(e.member)}; {member_name(e.before)} is fenced",
        because=f"static member {e.instance} came back",
    )


@sentence.register
def member_fenced(e: group.MemberFenced) -> Sentence:
    return Sentence(
        f"group {e.group}: refuses {e.operation} of",
        member_name(e.member),
        reason=f"another member has taken over its instance id {e.instance}",
        because=f"{member_name(e.member)} was fenced",
    )


@sentence.register
def offsets_committed(e: group.OffsetsCommitted) -> Sentence:
    of = [f"{topic}-{partition} {offset:,}" for topic, partition, offset in e.offsets]
    return quiet(f"group {e.group} commits", joined(of))


@sentence.register
def transactional_offsets_completed(e: group.TransactionalOffsetsCompleted) -> Sentence:
    of = [f"{topic}-{partition} {offset:,}" for topic, partition, offset in e.offsets]
    what = "count from now on" if e.committed else "are dropped"
    ended = "was committed" if e.committed else "was aborted"
    return Sentence(
        f"group {e.group}: the offsets of a transaction {what}:",
        joined(of),
        reason=f"the transaction of producer {e.producer_id} {ended}",
        loud=False,
    )


@sentence.register
def offsets_removed(e: group.OffsetsRemoved) -> Sentence:
    of = [f"{topic}-{partition}" for topic, partition in e.partitions]
    reason = {"expired": "they expired", "deleted": "somebody deleted them"}.get(e.reason, e.reason)
    return Sentence(
        f"group {e.group}: committed offsets are removed:",
        joined(of),
        reason=reason,
        loud=False,
    )


@sentence.register
def groups_loading(e: group.GroupsLoading) -> Sentence:
    return quiet(
        "reads the groups of",
        f"__consumer_offsets-{e.partition}",
        because=f"it leads __consumer_offsets-{e.partition} now",
        exact=(
            f"reads the groups of __consumer_offsets-{e.partition}, which it leads in epoch"
            f" {e.leader_epoch}"
        ),
    )


@sentence.register
def groups_loaded(e: group.GroupsLoaded) -> Sentence:
    counts = f"{plural(e.groups, 'group')} and {plural(e.offsets, 'offset')}"
    return quiet(
        "coordinates the groups of",
        f"__consumer_offsets-{e.partition}",
        exact=(
            f"coordinates the groups of __consumer_offsets-{e.partition} in epoch"
            f" {e.leader_epoch}: read {counts} in {duration(e.took_ms)}"
        ),
    )


@sentence.register
def group_loaded(e: group.GroupLoaded) -> Sentence:
    return Sentence(f"coordinates group {e.group.group} from now on", after=f"({e.group.state})")


@sentence.register
def groups_unloaded(e: group.GroupsUnloaded) -> Sentence:
    counts = f"{plural(e.groups, 'group')} and {plural(e.offsets, 'offset')}"
    return Sentence(
        "forgets the groups of",
        f"__consumer_offsets-{e.partition}",
        f"({counts})",
        "another broker leads it now",
        loud=False,
    )
