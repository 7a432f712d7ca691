"""The sticky assignment: equal shares, and as few partitions as possible change their member.

(Kafka: StickyAssignor.java, CooperativeStickyAssignor.java; KIP-54, KIP-341, KIP-429.) Each move of
a partition has a cost: the old member commits its offset, and the new member may have to rebuild
state for it. Each member reports its former partitions, so the leader can leave them with this
member.

Two cases:

- All members subscribe to the same topics. Then the shares are known beforehand: with 7 partitions
  and 3 members they are 3, 2 and 2. Each member keeps partitions up to its share, and the rest is
  divided.
- The subscriptions differ. Then the leader improves the current assignment step by step, while some
  member could take a partition from a member that has at least two more. Kafka stops when no single
  move helps. Our assignor then looks for a chain of moves. So its result is at least as balanced as
  Kafka's.
"""

from collections.abc import Iterable, Mapping

from kafka_edu.clients.consumer.assignors import Assignment, MemberSubscription
from kafka_edu.common.topic_partition import TopicPartition


def sticky_assign(
    partitions_per_topic: Mapping[str, int], subscriptions: Mapping[str, MemberSubscription]
) -> Assignment:
    """Return a balanced assignment that moves few partitions."""
    wanted = {frozenset(each.topics) for each in subscriptions.values()}
    if len(wanted) == 1:
        return _equal_shares(partitions_per_topic, subscriptions)
    return _Improvement(partitions_per_topic, subscriptions).run()


def cooperative_sticky_assign(
    partitions_per_topic: Mapping[str, int], subscriptions: Mapping[str, MemberSubscription]
) -> Assignment:
    """Assign as sticky does, but leave out each partition that moves and that its old member still
    has.

    The old member sees that these partitions are missing, gives them up, and joins again. In this
    second rebalance no member has them, so they go to their new member. O(sticky + partitions).
    """
    claims: dict[TopicPartition, set[str]] = {}
    for member, subscription in subscriptions.items():
        for tp in subscription.owned:
            claims.setdefault(tp, set()).add(member)
    return {
        member: [tp for tp in partitions if member in claims.get(tp, (member,))]
        for member, partitions in sticky_assign(partitions_per_topic, subscriptions).items()
    }


def _all_partitions(
    partitions_per_topic: Mapping[str, int], topics: Iterable[str]
) -> list[TopicPartition]:
    return [
        TopicPartition(topic, number)
        for topic in sorted(set(topics) & set(partitions_per_topic))
        for number in range(partitions_per_topic[topic])
    ]


def _equal_shares(
    partitions_per_topic: Mapping[str, int], subscriptions: Mapping[str, MemberSubscription]
) -> Assignment:
    """Assign when all members subscribe to the same topics. O(partitions · log + members).

    Former partitions count only if they are from the newest generation. A member with an older
    generation missed a rebalance, and other members may have its partitions now.
    """
    topics = next(iter(subscriptions.values())).topics
    everything = _all_partitions(partitions_per_topic, topics)
    exists = set(everything)
    newest = max(each.generation for each in subscriptions.values())
    share, more = divmod(len(everything), len(subscriptions))
    taken: set[TopicPartition] = set()
    assignment: Assignment = {}
    owned: dict[str, list[TopicPartition]] = {}
    for member in sorted(subscriptions):
        subscription = subscriptions[member]
        valid = subscription.owned if subscription.generation == newest else ()
        owned[member] = [tp for tp in valid if tp in exists and tp not in taken]
        assignment[member] = owned[member][:share]
        taken.update(assignment[member])
    # If shares differ, members that had more than `share` partitions are the first to keep an extra
    # one.
    for member, had in owned.items():
        if more and len(had) > share:
            assignment[member].append(had[share])
            taken.add(had[share])
            more -= 1
    rest = iter([tp for tp in everything if tp not in taken])
    open_members = [member for member, got in assignment.items() if len(got) < share]
    while open_members:
        for member in open_members:
            assignment[member].append(next(rest))
        open_members = [member for member in open_members if len(assignment[member]) < share]
    takers = [member for member, got in assignment.items() if len(got) == share]
    for tp, member in zip(rest, takers, strict=False):
        assignment[member].append(tp)
    return assignment


class _Improvement:
    """The assignment of members with different subscriptions, while it is improved.

    O(partitions² · members) at worst, as in Kafka.
    """

    def __init__(
        self,
        partitions_per_topic: Mapping[str, int],
        subscriptions: Mapping[str, MemberSubscription],
    ) -> None:
        wants = {member: set(each.topics) for member, each in subscriptions.items()}
        everything = _all_partitions(
            partitions_per_topic, (topic for topics in wants.values() for topic in topics)
        )
        self._takers = {
            topic: sorted(member for member, topics in wants.items() if topic in topics)
            for topic in {tp.topic for tp in everything}
        }
        """Topic → the members that subscribe to it."""
        self._could_have = {
            member: sum(partitions_per_topic.get(topic, 0) for topic in topics)
            for member, topics in wants.items()
        }
        """Member → the maximum number of partitions that it could have."""
        self._partitions = sorted(everything, key=lambda tp: (len(self._takers[tp.topic]), tp))
        """All partitions. Partitions that only a few members can take come first."""
        exists = set(everything)
        self._owner: dict[TopicPartition, str] = {}
        self._older_owner: dict[TopicPartition, str] = {}
        """Partition → a member that reports it from an older generation than its owner."""
        self._count = dict.fromkeys(subscriptions, 0)
        self._moves: dict[TopicPartition, tuple[str, str]] = {}
        """Partition → its first member and its current member, if it was moved."""
        self._must_revoke = False
        """Whether a member no longer subscribes to a topic, so that its partitions of the topic
        must move.
        """
        for tp, member in self._read_owned(subscriptions):
            if tp not in exists:
                continue
            if tp.topic in wants[member]:
                self._owner[tp] = member
                self._count[member] += 1
            else:
                self._must_revoke = True

    def _read_owned(
        self, subscriptions: Mapping[str, MemberSubscription]
    ) -> list[tuple[TopicPartition, str]]:
        """Return each partition's owner. If two members report it, the newer generation wins."""
        claims: dict[TopicPartition, dict[int, str]] = {}
        for member in sorted(subscriptions):
            generation = subscriptions[member].generation
            for tp in subscriptions[member].owned:
                claims.setdefault(tp, {}).setdefault(generation, member)
        owners = []
        for tp, by_generation in claims.items():
            newest, *older = sorted(by_generation, reverse=True)
            owners.append((tp, by_generation[newest]))
            if older:
                self._older_owner[tp] = by_generation[older[0]]
        return owners

    def run(self) -> Assignment:
        """Assign the partitions without an owner, then move partitions as long as that helps."""
        began_empty = not self._owner
        new = [tp for tp in self._partitions if tp not in self._owner]
        for tp in new:
            member = self._least_loaded(tp.topic)
            self._owner[tp] = member
            self._count[member] += 1
        movable = [tp for tp in self._partitions if len(self._takers[tp.topic]) > 1]
        movable_set = set(movable)
        before, balance = dict(self._owner), self._balance(movable_set)
        if not self._must_revoke:
            self._improve([tp for tp in new if tp in movable_set])
        improved = self._improve(movable)
        while self._improve_by_a_chain(movable):
            improved = True
        if improved and not began_empty and self._balance(movable_set) >= balance:
            self._owner = before
        assignment: Assignment = {member: [] for member in self._count}
        for tp in self._partitions:
            assignment[self._owner[tp]].append(tp)
        return assignment

    def _least_loaded(self, topic: str) -> str:
        return min(self._takers[topic], key=lambda member: (self._count[member], member))

    def _balance(self, movable: set[TopicPartition]) -> int:
        """Return how unequal the members' numbers of partitions are: the sum of the differences
        between any two members. 0 means that all numbers are equal.

        A member counts only if it can get or lose a partition.
        """
        loses = {self._owner[tp] for tp in movable}
        counts = [
            count
            for member, count in self._count.items()
            if count < self._could_have[member] or member in loses
        ]
        return sum(abs(a - b) for at, a in enumerate(counts) for b in counts[:at])

    def _improve(self, partitions: list[TopicPartition]) -> bool:
        """Move partitions to members that have at least two fewer. Return whether any moved."""
        moved, changed = False, True
        while changed:
            changed = False
            for tp in partitions:
                count = self._count[self._owner[tp]]
                older = self._older_owner.get(tp)
                if older in self._takers[tp.topic] and count > self._count[older] + 1:
                    self._move(tp, older)
                elif count > self._count[least := self._least_loaded(tp.topic)] + 1:
                    self._move(tp, least)
                else:
                    continue
                changed = moved = True
        return moved

    def _improve_by_a_chain(self, movable: list[TopicPartition]) -> bool:
        """Find a chain of members, and move one partition from each member to the next member of
        the chain. Do this only if it makes the first and the last member more equal.

        Example: a has 6, b has 5 and c has 4. c cannot take any partition of a, but b can, and c
        can take one of b. Kafka has no such step, so its assignment can be less balanced.
        """
        held: dict[str, list[TopicPartition]] = {}
        for tp in movable:
            held.setdefault(self._owner[tp], []).append(tp)
        for first in sorted(held, key=lambda member: (-self._count[member], member)):
            came: dict[str, TopicPartition] = {}
            row = [first]
            for member in row:
                for tp in held.get(member, ()):
                    for taker in self._takers[tp.topic]:
                        if taker == first or taker in came:
                            continue
                        came[taker] = tp
                        row.append(taker)
                        if self._count[taker] < self._count[first] - 1:
                            self._move_chain(first, taker, came)
                            return True
        return False

    def _move_chain(self, first: str, last: str, came: Mapping[str, TopicPartition]) -> None:
        target = last
        while target != first:
            tp = came[target]
            source = self._owner[tp]
            self._owner[tp] = target
            target = source
        self._count[first] -= 1
        self._count[last] += 1

    def _move(self, tp: TopicPartition, target: str) -> None:
        """Move `tp` to the member `target`. If a different partition of the same topic has moved
        from `target` to the first member of `tp` before, move that partition back instead.
        """
        source = self._moves.get(tp, (self._owner[tp], ""))[0]
        back = [
            other
            for other, move in self._moves.items()
            if move == (target, source) and other.topic == tp.topic
        ]
        tp = min(back, default=tp)
        old = self._owner[tp]
        first = self._moves.pop(tp, (old, old))[0]
        if first != target:
            self._moves[tp] = first, target
        self._owner[tp] = target
        self._count[old] -= 1
        self._count[target] += 1
