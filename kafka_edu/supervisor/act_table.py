"""Table of all acts on a cluster: their names, their parameters, their effects, and whether they
are dangerous.

The supervisor carries out the acts. The command line, the dashboard's keys and palette, and the
docs are made from this table.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from kafka_edu.common.link_faults import link_ends


class Parameter(StrEnum):
    """The parameters that acts can have. The value of each member is the parameter's key in a
    request.
    """

    BROKER = "broker"
    """The id of a broker."""
    OTHER = "other"
    """The id of a second broker, at the other end of a link."""
    TOPIC = "topic"
    PARTITION = "partition"
    """The name of a partition, such as `web-0`. `all` means all partitions, if the act
    allows it.
    """
    PARTITIONS = "partitions"
    """The number of partitions, or the broker ids of each partition in the form of Kafka's tools:
    `1:2,2:0`.
    """
    REPLICAS = "replicas"
    """The ids of a partition's replicas, such as `1,2,0`. The preferred leader comes first."""
    SETTING = "setting"
    """A setting in the form `key=value`. The form `key=` removes the key."""
    CLIENTS = "clients"
    """A list of client ids, such as `shop,reader-*` or `*,-broker-*`. `*` means all clients, `off`
    means none.
    """
    DELAY_MS = "delay_ms"
    """The delay in each direction of a link, in ms."""
    STALL_MS = "stall_ms"
    """How long a process stands still in each stall, in ms."""
    EVERY_MS = "every_ms"
    """The time from the beginning of one stall to the beginning of the next, in ms."""


NUMBERS: Final = frozenset(
    {
        Parameter.BROKER,
        Parameter.OTHER,
        Parameter.DELAY_MS,
        Parameter.STALL_MS,
        Parameter.EVERY_MS,
    }
)


ZOOKEEPER_KEY: Final = "zookeeper"
"""The key for the number of a ZooKeeper server, in a request for an act on a process."""


class Act(NamedTuple):
    """One act on a cluster, for example to kill a broker."""

    name: str
    title: str
    """The act's title in a palette. Its parameters are written in braces."""
    parameters: tuple[Parameter, ...]
    effect: str
    """The effect of the act, in one sentence."""
    dangerous: bool = False
    """Whether the user must confirm the act first."""

    def title_with(self, values: dict[str, object]) -> str:
        """Return the title with the values of the parameters in it. The value for a broker is its
        id, `controller`, or a text such as `leader of web-0`. If the act is on a process, `values`
        may contain a ZooKeeper server instead of a broker. The value for a ZooKeeper server is its
        number, `leader` or `follower`.
        """
        if ZOOKEEPER_KEY in values:
            server = str(values[ZOOKEEPER_KEY])
            name = f"zookeeper-{server}" if server.isdecimal() else f"ZooKeeper's {server}"
            return self.title.replace("broker {broker}", name)
        broker = str(values.get(Parameter.BROKER.value, ""))
        title = self.title
        if broker[:1].isalpha():
            title = title.replace("broker {broker}", "the {broker}")
        return title.format(**{p.value: values.get(p.value, f"<{p}>") for p in Parameter})


_BROKER = (Parameter.BROKER,)
_LINK = (Parameter.BROKER, Parameter.OTHER)


def _link_acts(
    suffix: str, ends: str, parameters: tuple[Parameter, ...], *, cut: str, reset: str
) -> tuple[Act, ...]:
    """Return the four acts on one kind of link. `cut` and `reset` describe the effects of the acts
    that cut and reset the link.
    """
    return (
        Act(
            f"slow-{suffix}",
            f"slow the link {ends} by {{delay_ms}} ms",
            (*parameters, Parameter.DELAY_MS),
            "All bytes on this link arrive later by the delay, in each direction.",
        ),
        Act(f"cut-{suffix}", f"cut the link {ends}", parameters, cut, dangerous=True),
        Act(f"reset-{suffix}", f"reset the connections {ends}", parameters, reset),
        Act(
            f"heal-{suffix}",
            f"heal the link {ends}",
            parameters,
            "Both reach each other again; bytes that waited arrive now.",
        ),
    )


#: Acts on one process. A request can name a ZooKeeper server instead of a broker.
PROCESS_ACTS: Final = (
    Act("start", "start broker {broker}", _BROKER, "The process starts and joins the cluster."),
    Act(
        "stop",
        "stop broker {broker} gracefully",
        _BROKER,
        "The broker hands its leaderships over, flushes its logs and ends (SIGTERM).",
    ),
    Act(
        "kill",
        "kill -9 broker {broker}",
        _BROKER,
        "The process is gone at once; its session lives on until it expires.",
        dangerous=True,
    ),
    Act(
        "pause",
        "pause broker {broker} (SIGSTOP)",
        _BROKER,
        "The process keeps its sockets open but answers nothing; its session expires after a"
        " while.",
    ),
    Act("resume", "resume broker {broker}", _BROKER, "A paused process runs again (SIGCONT)."),
    Act(
        "restart",
        "restart broker {broker}",
        _BROKER,
        "The broker stops gracefully and starts again.",
    ),
    Act(
        "stall",
        "stall broker {broker} for {stall_ms} ms every {every_ms} ms",
        (Parameter.BROKER, Parameter.STALL_MS, Parameter.EVERY_MS),
        "The process stops again and again, as on a busy hypervisor. If a stop is longer than the"
        " session's time-out, the session ends each time.",
    ),
    Act(
        "steady",
        "end the stalls of broker {broker}",
        _BROKER,
        "The process runs without stops again.",
    ),
)

#: Acts on the cluster.
CLUSTER_ACTS: Final = (
    Act(
        "expire-session",
        "expire the ZooKeeper session of broker {broker}",
        _BROKER,
        "ZooKeeper, ours or Apache's, ends the session: the broker's ephemeral znodes are deleted,"
        " although its process runs. The broker soon gets a new session.",
        dangerous=True,
    ),
    Act(
        "delete-controller",
        "delete the znode /controller",
        (),
        "All brokers see the deletion and try to create the znode; the first one becomes the"
        " controller.",
        dangerous=True,
    ),
    Act(
        "write-controller",
        "write broker {broker} into /controller",
        _BROKER,
        "The controller reads another id and resigns. It deletes the znode, because its own"
        " session created the znode. Then all brokers try to create it.",
        dangerous=True,
    ),
    Act(
        "elect-preferred",
        "elect the preferred leader of {partition}",
        (Parameter.PARTITION,),
        "The first of the assigned replicas becomes leader, if it is in sync.",
    ),
    Act(
        "elect-unclean",
        "elect any leader for {partition}",
        (Parameter.PARTITION,),
        "A replica that is out of sync may become the leader of a partition that has none:"
        " committed records may be lost.",
        dangerous=True,
    ),
    Act(
        "create-topic",
        "create topic {topic} with partitions {partitions}",
        (Parameter.TOPIC, Parameter.PARTITIONS),
        "The controller writes the assignment, makes replicas and elects leaders. If PARTITIONS is"
        " a number, the controller chooses up to three brokers for each partition; 1:2,2:0 names"
        " the brokers instead.",
    ),
    Act(
        "add-partitions",
        "grow topic {topic} to {partitions} partitions",
        (Parameter.TOPIC, Parameter.PARTITIONS),
        "The new partitions are empty, and keys that are hashed go to other partitions from now"
        " on.",
    ),
    Act(
        "delete-topic",
        "delete topic {topic}",
        (Parameter.TOPIC,),
        "All its records are lost. If the broker of a replica is down, the deletion waits until"
        " that broker is up.",
        dangerous=True,
    ),
    Act(
        "reassign",
        "move {partition} to brokers {replicas}",
        (Parameter.PARTITION, Parameter.REPLICAS),
        "New replicas copy the partition; old ones are deleted when the new are in sync.",
    ),
    Act(
        "topic-config",
        "set {setting} of topic {topic}",
        (Parameter.TOPIC, Parameter.SETTING),
        "The topic's configuration changes on every broker.",
    ),
    Act(
        "broker-config",
        "set {setting} of broker {broker}",
        (Parameter.BROKER, Parameter.SETTING),
        "The broker's dynamic configuration changes (num.io.threads, for example).",
    ),
    Act(
        "capture",
        "capture the frames of clients {clients}",
        (Parameter.CLIENTS,),
        "All brokers record the requests of these clients and the responses, for the screen Wire.",
    ),
    *_link_acts(
        "link",
        link_ends("{broker}", "{other}"),
        _LINK,
        cut="Nothing passes between the two. As with a pulled cable, neither side gets an error.",
        reset="Every connection between the two brokers gets an error, as after a TCP reset. Both"
        " brokers connect again.",
    ),
)

#: Acts for a cluster that was started with `--with-relays`.
RELAYED_ACTS: Final = (
    *_link_acts(
        "zookeeper",
        link_ends("{broker}", None, "zookeeper"),
        _BROKER,
        cut="The broker's session expires, and the controller makes other brokers leaders. The"
        " broker does not know of it until the link is healed.",
        reset="Every connection between the broker and ZooKeeper is closed. The broker connects"
        " again, and keeps its session.",
    ),
    *_link_acts(
        "clients",
        link_ends("{broker}", None, "clients"),
        _BROKER,
        cut="Its clients get no answer and time out, while replication goes on.",
        reset="Each connection of a client to the broker ends; the clients connect again.",
    ),
)

ACTS: Final[dict[str, Act]] = {
    act.name: act for act in (*PROCESS_ACTS, *CLUSTER_ACTS, *RELAYED_ACTS)
}


def parse_values(act: Act, words: list[str]) -> dict[str, int | str]:
    """Turn the words of a command line into the values of a request. The words are in the order of
    the act's parameters. Raises ValueError if a word is missing or wrong. The error text names this
    word.
    """
    names = " ".join(p.value.upper() for p in act.parameters)
    if len(words) != len(act.parameters):
        raise ValueError(f"'{act.name}' takes {names or 'no parameters'}")
    values: dict[str, int | str] = {}
    for parameter, word in zip(act.parameters, words, strict=True):
        if parameter not in NUMBERS:
            values[parameter.value] = word
        elif word.isdecimal():
            values[parameter.value] = int(word)
        else:
            raise ValueError(f"{parameter.value.upper()} of '{act.name}' is a number, not '{word}'")
    return values
