"""Public tests of exercise 08-2. `kafka-edu lab check 08-2` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Collection, Sequence
from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch
from ..routes_rules import Rule, right_choice, right_clusters

ADDRESS: Final = "10.0.0.7"
RULES: Final[tuple[Rule, ...]] = (
    ("billing-*", None, ("west",)),
    ("*", "audit.*", ("west",)),
    ("*", None, ("east", "west")),
)
ALL: Final = ("east", "west")


class Asked:
    """A Routes object of the learner's class. Each answer is compared with the right answer."""

    def __init__(self, learner: Learner, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._made: LearnerObject = learner.make([[a, b, list(c)] for a, b, c in rules])

    def clusters(self, client_id: str, topic: str | None) -> tuple[str, ...]:
        """Call `clusters_for`, and return the right clusters. Raises Mismatch if the learner's
        answer is wrong.
        """
        expected = right_clusters(self._rules, client_id, topic)
        came = self._made.call("clusters_for", client_id, topic)
        if came != expected:
            raise Mismatch(
                f"clusters_for({client_id!r}, {topic!r})",
                expected,
                came,
                self._why(client_id, topic, expected, came),
                drawing=self._drawing(),
                read="clusters_for",
            )
        return expected

    def choose(
        self,
        client_id: str,
        topic: str | None = None,
        serving: Collection[str] = ALL,
        address: str = ADDRESS,
    ) -> None:
        """Call `choose` for a client. Raises Mismatch if the chosen cluster is wrong."""
        expected = right_choice(self._rules, client_id, address, topic, serving)
        came = self._made.call("choose", client_id, address, topic, sorted(serving))
        if came == expected:
            return
        wanted = self.clusters(client_id, topic)
        if came is not None and came not in wanted:
            why = f"this client may only go to {', '.join(wanted) or 'no cluster'}"
        elif came is not None and came not in serving:
            why = f"{came} does not serve now"
        elif expected is None:
            why = "none of its clusters serves, or it has none"
        elif came is None:
            why = f"{expected} serves, and is one of its clusters"
        else:
            why = f"the digest of client, address and cluster is largest for {expected}"
        raise Mismatch(
            f"choose({client_id!r}, {address!r}, {topic!r}, {sorted(serving)})",
            expected,
            came,
            why,
            drawing=self._drawing(),
            read="choose",
        )

    def _why(
        self, client_id: str, topic: str | None, expected: tuple[str, ...], came: object
    ) -> str:
        if not isinstance(came, tuple):
            return "it is a list of clusters"
        for client, topics, clusters in self._rules:
            if clusters == came and topics is not None and topic is None:
                return f"the rule for topics {topics} does not match a request without a topic"
            if right_clusters([(client, topics, clusters)], client_id, topic):
                about = "" if topics is None else f" and topic {topics}"
                return f"the first rule that matches counts: client {client}{about}"
        if not expected:
            return "no rule matches: the list is empty"
        return "the clusters of one rule, in their order"

    def _drawing(self) -> tuple[str, ...]:
        return tuple(
            f"client={client}{'' if topic is None else f' topic={topic}'} to={','.join(clusters)}"
            for client, topic, clusters in self._rules[:8]
        )


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    asked = Asked(learner, RULES)
    asked.clusters("billing-7", None)
    asked.clusters("shop", "audit.login")
    asked.clusters("shop", None)
    asked.choose("shop")
    asked.choose("shop", serving=("west",))
    asked.choose("billing-7", serving=("east",))


def test_patterns(learner: Learner) -> None:
    """patterns with *, ? and [], in upper and lower case"""
    rules: tuple[Rule, ...] = (
        ("app-?", None, ("one",)),
        ("app-[xy]z", None, ("two",)),
        ("App-*", None, ("three",)),
        ("*-batch", "log.*", ("four",)),
        ("", None, ("five",)),
    )
    asked = Asked(learner, rules)
    for client in ("app-1", "app-12", "app-xz", "app-zz", "App-12", "a-batch", "app-batch", ""):
        for topic in (None, "log.web", "log", "LOG.web"):
            asked.clusters(client, topic)


def test_without_a_topic(learner: Learner) -> None:
    """some rules are for topics, and a request has no topic"""
    rules: tuple[Rule, ...] = (("*", "*", ("one",)), ("b*", None, ("two", "three")))
    asked = Asked(learner, rules)
    for client in ("a", "b"):
        for topic in (None, "web", ""):
            asked.clusters(client, topic)
            asked.choose(client, topic, ("one", "two", "three"))


def test_no_rule(learner: Learner) -> None:
    """no rule matches the client, or there are no rules"""
    asked = Asked(learner, (("a", None, ("one",)),))
    asked.clusters("b", None)
    asked.choose("b", serving=("one",))
    empty = Asked(learner, ())
    empty.clusters("a", "web")
    empty.choose("a", serving=("one",))


def test_nobody_serves(learner: Learner) -> None:
    """some of the clusters are serving, or none of them"""
    asked = Asked(learner, RULES)
    for client in ("shop", "billing-1", "a", "b", "c"):
        for serving in ((), ("east",), ("west",), ALL):
            asked.choose(client, serving=serving)


def test_spread(learner: Learner, seed: int) -> None:
    """a hundred clients and four clusters; one cluster goes away and comes back"""
    random = Random(f"spread/{seed}")
    clusters = ("north", "east", "south", "west")
    asked = Asked(learner, (("*", None, clusters),))
    gone = random.choice(clusters)
    rest = [one for one in clusters if one != gone]
    for number in range(100):
        client = f"client-{random.randrange(10_000)}"
        address = f"10.0.{number}.{random.randrange(255)}"
        for serving in (clusters, rest, clusters):
            asked.choose(client, None, serving, address)


def some_rules(random: Random) -> tuple[Rule, ...]:
    """Return a random list of rules."""
    rules = []
    for _ in range(random.randint(1, 6)):
        client = random.choice(("a*", "b*", "*", "ab", "?b*", "c"))
        topic = random.choice((None, None, "web", "a*", "*"))
        some = random.sample(("one", "two", "three"), random.randint(1, 3))
        rules.append((client, topic, tuple(some)))
    return tuple(rules)


def test_random(learner: Learner, seed: int) -> None:
    """forty random lists of rules"""
    random = Random(f"routes/{seed}")
    for _ in range(40):
        asked = Asked(learner, some_rules(random))
        for _ in range(6):
            client = random.choice(("a", "ab", "b", "bb", "c", "d", ""))
            topic = random.choice((None, "web", "audit", "b"))
            serving = random.sample(("one", "two", "three"), random.randint(0, 3))
            asked.clusters(client, topic)
            asked.choose(client, topic, serving)
