"""The ten situations of exercise 08-7: bytes are sent, and the learner says which server receives
them.
"""

from functools import cache
from random import Random
from typing import Final, NamedTuple

from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import encode_request, encode_response
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

NOBODY: Final = -1
PROXY: Final = "proxy"
BROKERS: Final = 4
PARTITIONS: Final = 4
OFFSETS: Final = 5
VERSION: Final = 1
TOPIC: Final = "web"

QUESTIONS: Final = """\
# 08-7: your situations

Brokers 0 to 3, and a metadata proxy that is no broker. The topic `{topic}`:

| partition | leader | replicas |
| --- | --- | --- |
{partitions}

Of `__consumer_offsets` the partitions 0 to 4 are led by the brokers {offsets}.

| number | which bytes |
| --- | --- |
{rows}

1. `to_1` to `to_10`: who receives these bytes first? The number of a broker,
   `"proxy"`, or -1: nobody is there who could.
2. `asked`: how many bytes has the request Metadata, version 1, for the topic
   `{topic}`, of a client with the id `{client}`, size included?
3. `told`: how many bytes has the answer, size included? Hosts are `{host}`, there
   are no racks, the controller is broker {controller}, and each partition has all
   its replicas in sync. Version 1 has no cluster id.
"""


class Situation(NamedTuple):
    """A situation in which bytes are sent, and the right answer: the server that receives them
    first.
    """

    words: str
    to: int | str
    why: str
    """The explanation of the right answer, for a learner whose answer is wrong."""


class World(NamedTuple):
    """The simulated cluster of one learner, to which the questions refer."""

    leaders: tuple[int, ...]
    replicas: tuple[tuple[int, ...], ...]
    offsets: tuple[int, ...]
    client: str
    host: str
    controller: int

    def asked(self) -> int:
        """Return the size of the Metadata request in bytes, with its size field."""
        request = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
        parts = encode_request(request, VERSION, 1, self.client)
        return sum(len(part_bytes(part)) for part in parts)

    def told(self) -> int:
        """Return the size of the Metadata response in bytes, with its size field."""
        response = MetadataResponse(
            brokers=[
                MetadataResponseBroker(node_id=one, host=self.host, port=9092 + one)
                for one in range(BROKERS)
            ],
            controller_id=self.controller,
            topics=[
                MetadataResponseTopic(
                    name=TOPIC,
                    partitions=[
                        MetadataResponsePartition(
                            partition_index=number,
                            leader_id=leader,
                            replica_nodes=list(replicas),
                            isr_nodes=list(replicas),
                        )
                        for number, (leader, replicas) in enumerate(
                            zip(self.leaders, self.replicas, strict=True)
                        )
                    ],
                )
            ],
        )
        parts = encode_response(ApiKey.METADATA, VERSION, 1, response)
        return sum(len(part_bytes(part)) for part in parts)


@cache
def world(seed: int) -> World:
    """Return the random cluster for this seed. One seed always gives the same cluster."""
    random = Random(f"world/{seed}")
    replicas = tuple(
        tuple(random.sample(range(BROKERS), random.choice((2, 3)))) for _ in range(PARTITIONS)
    )
    leaders = tuple(random.choice(one) for one in replicas)
    offsets = tuple(random.randrange(BROKERS) for _ in range(OFFSETS))
    client = random.choice(("shop", "billing-7", "audit", "search-42"))
    host = random.choice(("kafka", "10.0.0.12", "b.example"))
    return World(leaders, replicas, offsets, client, host, random.randrange(BROKERS))


@cache
def situations(seed: int) -> tuple[Situation, ...]:
    """Return the ten situations for this seed, one of each kind, in random order."""
    random = Random(f"bytes/{seed}")
    here = world(seed)

    def pick() -> tuple[int, int, int]:
        """Return the number of a random partition, its leader, and one of its followers."""
        number = random.randrange(PARTITIONS)
        leader = here.leaders[number]
        return number, leader, random.choice([x for x in here.replicas[number] if x != leader])

    def other(*than: int) -> int:
        return random.choice([one for one in range(BROKERS) if one not in than])

    plain, stopped, fetched, mixed, old, again, stale = (pick() for _ in range(7))
    wrong = other(mixed[1])
    group = random.randrange(OFFSETS)
    made = [
        Situation(
            f"a record for {TOPIC}-{plain[0]}, of a client that booted on the proxy",
            plain[1],
            "records go to the leader of their partition; the proxy only named this leader",
        ),
        Situation(
            f"the proxy is stopped; a record for {TOPIC}-{stopped[0]}, of a client that booted"
            " on it before",
            stopped[1],
            "the client knows the brokers now, and does not need the proxy",
        ),
        Situation(
            "the proxy is stopped; the first request of a client that knows only the proxy's"
            " address",
            NOBODY,
            "it knows no other address",
        ),
        Situation(
            "the proxy runs; the first Metadata request of a client that knows only the proxy's"
            " address",
            PROXY,
            "that is what bootstrap.servers is: where the first Metadata request goes",
        ),
        Situation(
            f"broker {fetched[2]}, a follower, fetches {TOPIC}-{fetched[0]}",
            fetched[1],
            "followers fetch from the leader, over connections of their own",
        ),
        Situation(
            f"a commit of a group that belongs to partition {group} of __consumer_offsets, by"
            " a client that booted on the proxy",
            here.offsets[group],
            "the leader of that partition is the group's coordinator",
        ),
        Situation(
            f"broker {mixed[1]} advertises the address of broker {wrong}; a record for"
            f" {TOPIC}-{mixed[0]}",
            wrong,
            "the client uses the address that it received; the broker at that address refuses"
            " the record",
        ),
        Situation(
            f"broker {old[1]} has died, and broker {old[2]} leads {TOPIC}-{old[0]} now; a client"
            f" that has not asked for metadata since sends a record for it",
            NOBODY,
            "its metadata is old: it sends to the dead broker, and requests new metadata only"
            " after that",
        ),
        Situation(
            f"broker {again[1]} has died, and broker {again[2]} leads {TOPIC}-{again[0]} now; a"
            " client has asked for metadata again, and sends a record for it",
            again[2],
            "the new metadata names the new leader",
        ),
        Situation(
            f"the proxy plays back an old recording, in which broker {stale[2]} leads"
            f" {TOPIC}-{stale[0]}; all brokers live; the first record for it, of a client that"
            " has just booted on the proxy",
            stale[2],
            "the client believes the metadata; that broker answers NOT_LEADER_FOR_PARTITION",
        ),
    ]
    random.shuffle(made)
    return tuple(made)


def make(seed: int) -> dict[str, str]:
    """Return the learner's file questions.md, as a dict from its name to its text."""
    here = world(seed)
    partitions = "\n".join(
        f"| {number} | {leader} | {', '.join(map(str, replicas))} |"
        for number, (leader, replicas) in enumerate(zip(here.leaders, here.replicas, strict=True))
    )
    rows = "\n".join(
        f"| {number} | {one.words} |" for number, one in enumerate(situations(seed), 1)
    )
    return {
        "questions.md": QUESTIONS.format(
            topic=TOPIC,
            partitions=partitions,
            offsets=", ".join(map(str, here.offsets)),
            rows=rows,
            client=here.client,
            host=here.host,
            controller=here.controller,
        )
    }
