"""The stories: lists of steps, with the arguments of Kafka's tools. `tests.interop.tools` runs
them.
"""

from pathlib import Path
from typing import Final

from tests.interop.tools import MARKS, Step

SETTINGS: Final = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
}

TOPICS: Final = "topics --zookeeper {zk}"


def topic_with_leaders(topic: str, partitions: int) -> list[Step]:
    """Return the first steps of a story about a topic."""
    return [
        Step(f"{TOPICS} --create --topic {topic} --partitions {partitions} --replication-factor 1"),
        Step(
            f"{TOPICS} --describe --topic {topic}",
            until=f"(?s)(Leader: 0.*){{{partitions}}}",
            known=(topic, partitions),
        ),
    ]


#: None of these reaches the cluster.
USAGE: Final = [
    Step("topics"),
    Step("topics --list"),
    Step("topics --zookeeper {zk}"),
    Step("topics --zookeeper {zk} --list --create"),
    Step("topics --zookeeper {zk} --create"),
    Step("topics --zookeeper {zk} --create --topic a --replica-assignment 0 --partitions 1"),
    Step("topics --zookeeper {zk} --delete --topic a --config a=b"),
    Step(
        "topics --zookeeper {zk} --describe --under-replicated-partitions --unavailable-partitions"
    ),
    Step("topics --zookeeper {zk} --list --if-exists"),
    Step("topics --zookeeper {zk} --alter --topic a --replication-factor 2"),
    Step("topics --zoo {zk} --list"),
    Step("topics --list --zookeeper"),
    Step("console-producer"),
    Step("console-producer --topic a"),
    Step("console-producer --topic a --broker-list nowhere"),
    Step("console-producer --topic a --broker-list {bootstrap} --no-such"),
    Step("console-producer --topic a --broker-list {bootstrap} --property a=b=c"),
    Step("console-producer --topic a --broker-list {bootstrap} --timeout soon"),
    Step("console-producer --topic a --broker-list {bootstrap} --request-required-acks 2"),
    Step("console-producer --topic a --broker-list {bootstrap} --line-reader com.example.Mine"),
    Step("console-consumer"),
    Step("console-consumer --bootstrap-server {bootstrap}"),
    Step("console-consumer --topic a"),
    Step("console-consumer --bootstrap-server {bootstrap} --topic a --whitelist b"),
    Step("console-consumer --bootstrap-server {bootstrap} --topic a --offset 3"),
    Step("console-consumer --bootstrap-server {bootstrap} --whitelist a --partition 0"),
    Step("console-consumer --bootstrap-server {bootstrap} --topic a --partition 0 --offset -3"),
    Step("console-consumer --bootstrap-server {bootstrap} --topic a --partition 0 --offset soon"),
    Step(
        "console-consumer --bootstrap-server {bootstrap} --topic a --partition 0 --offset 3"
        " --from-beginning"
    ),
    Step("console-consumer --bootstrap-server {bootstrap} --topic a --no-such"),
    Step(
        "console-consumer --bootstrap-server {bootstrap} --topic a --group g --consumer-property"
        " group.id=h"
    ),
    Step(
        "console-consumer --bootstrap-server {bootstrap} --topic a --from-beginning"
        " --consumer-property auto.offset.reset=latest"
    ),
    Step("consumer-groups"),
    Step("consumer-groups --bootstrap-server {bootstrap}"),
    Step("consumer-groups --list"),
    Step("consumer-groups --bootstrap-server {bootstrap} --list --describe"),
    Step("consumer-groups --bootstrap-server {bootstrap} --describe"),
    Step("consumer-groups --bootstrap-server {bootstrap} --delete"),
    Step("consumer-groups --bootstrap-server {bootstrap} --delete --group a --topic b"),
    Step("consumer-groups --bootstrap-server {bootstrap} --list --group a"),
    Step("consumer-groups --bootstrap-server {bootstrap} --list --members"),
    Step("consumer-groups --bootstrap-server {bootstrap} --describe --group a --members --state"),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group a --dry-run"
        " --execute"
    ),
    Step("consumer-groups --bootstrap-server {bootstrap} --reset-offsets --topic t"),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group a --topic t"
        " --to-earliest --to-latest --dry-run"
    ),
    Step("delete-records"),
    Step("delete-records --bootstrap-server {bootstrap}"),
    Step("delete-records --bootstrap-server {bootstrap} --offset-json-file {dir}/no-such-file"),
    Step("broker-api-versions"),
    Step("broker-api-versions --no-such"),
    Step("configs"),
    Step("configs --zookeeper {zk}"),
    Step("configs --zookeeper {zk} --describe"),
    Step("configs --describe --entity-type brokers"),
    Step("configs --zookeeper {zk} --bootstrap-server {bootstrap} --describe --entity-type topics"),
    Step("configs --bootstrap-server {bootstrap} --describe --entity-type topics"),
    Step("configs --zookeeper {zk} --alter --entity-type topics --add-config a=b"),
    Step("configs --zookeeper {zk} --alter --entity-type clients --add-config a=b"),
    Step("configs --zookeeper {zk} --alter --entity-type topics --entity-name a"),
    Step("configs --zookeeper {zk} --describe --entity-type things"),
    Step("configs --zookeeper {zk} --describe --entity-type topics --entity-type brokers"),
    Step("configs --zookeeper {zk} --describe --entity-type topics --add-config a=b"),
    Step("configs --bootstrap-server {bootstrap} --describe --entity-type brokers"),
    Step("preferred-replica-election"),
    Step("preferred-replica-election --path-to-json-file {dir}/no.json"),
    Step("preferred-replica-election --zookeeper"),
    Step("preferred-replica-election --zookeeper {zk} --no-such"),
    Step("consumer-perf-test"),
    Step("consumer-perf-test --topic a --broker-list {bootstrap}"),
    Step("consumer-perf-test --topic a --broker-list {bootstrap} --messages many"),
    Step(
        "consumer-perf-test --topic a --broker-list {bootstrap} --messages 1 --reporting-interval 0"
    ),
]

#: Usage of a tool that is newer than 2.0.
USAGE_2_8: Final = [
    Step("leader-election"),
    Step("leader-election --no-such"),
    Step("leader-election --election-type preferred"),
    Step("leader-election --bootstrap-server {bootstrap}"),
    Step("leader-election --bootstrap-server {bootstrap} --election-type preferred"),
    Step("leader-election --bootstrap-server {bootstrap} --election-type preferred --topic a"),
    Step(
        "leader-election --bootstrap-server {bootstrap} --election-type preferred --topic a"
        " --partition one"
    ),
    Step("leader-election --bootstrap-server {bootstrap} --election-type preferred --partition 0"),
    Step(
        "leader-election --bootstrap-server {bootstrap} --election-type preferred --partition 0"
        " --all-topic-partitions"
    ),
    Step(
        "leader-election --bootstrap-server {bootstrap} --election-type preferred --topic a"
        " --partition 0 --all-topic-partitions"
    ),
    Step(
        "leader-election --bootstrap-server {bootstrap} --election-type wild --all-topic-partitions"
    ),
    Step(
        "leader-election --bootstrap-server {bootstrap} --election-type unclean --path-to-json-file"
        " {dir}/no.json"
    ),
    Step(
        "leader-election --bootstrap-server {bootstrap} --election-type unclean --path-to-json-file"
        " {dir}/nothing.json"
    ),
    Step(
        "leader-election --bootstrap-server {bootstrap} --election-type unclean --path-to-json-file"
        " {dir}/elect-twice-{x}.json"
    ),
    Step(
        "leader-election --bootstrap-server {bootstrap} --election-type unclean --path-to-json-file"
        " {dir}/elect-no-field.json"
    ),
    Step(
        "leader-election --bootstrap-server {bootstrap} --election-type unclean --path-to-json-file"
        " {dir}/elect-array.json"
    ),
    Step(
        "leader-election --bootstrap-server {bootstrap} --election-type unclean --path-to-json-file"
        " {dir}/no-such-file"
    ),
]

_WRONG_CONFIGS: Final = (
    "no.such=1",
    "retention.ms=soon",
    "segment.bytes=1",
    "cleanup.policy=shred",
    "preallocate=maybe",
    "min.cleanable.dirty.ratio=2",
    "message.timestamp.type=Never",
    "retention.ms",
)
CREATION: Final = [
    Step("topics --zookeeper {zk} --create --topic a --partitions 1"),
    Step("topics -list -zookeeper={zk} --topic a{x}"),
    Step(f"{TOPICS} --create --topic a{{x}} --partitions 2 --replication-factor 1"),
    Step(f"{TOPICS} --create --topic a{{x}} --partitions 2 --replication-factor 1"),
    Step(f"{TOPICS} --create --topic a{{x}} --partitions 2 --replication-factor 1 --if-not-exists"),
    Step(
        f"{TOPICS} --create --topic b.{{x}} --partitions 1 --replication-factor 1 --config"
        " retention.ms=1000 --config cleanup.policy=compact"
    ),
    Step(f"{TOPICS} --create --topic b_{{x}} --partitions 1 --replication-factor 1"),
    Step(f"{TOPICS} --create --topic c{{x}} --replica-assignment 0,0,0"),
    Step(f"{TOPICS} --create --topic d{{x}} --replica-assignment 0:0"),
    Step(f"{TOPICS} --create --topic d{{x}} --replica-assignment zero"),
    Step(f"{TOPICS} --create --topic d{{x}} --partitions 1 --replication-factor 5"),
    Step(f"{TOPICS} --create --topic d{{x}} --partitions 0 --replication-factor 1"),
    Step(f"{TOPICS} --create --topic d{{x}} --partitions 1 --replication-factor 0"),
    Step(f"{TOPICS} --create --topic d{{x}} --partitions one --replication-factor 1"),
    Step(f"{TOPICS} --create --topic d{{x}} --topic e{{x}} --partitions 1 --replication-factor 1"),
    Step(f"{TOPICS} --create --topic d%20{{x}} --partitions 1 --replication-factor 1"),
    Step(f"{TOPICS} --create --topic .. --partitions 1 --replication-factor 1"),
    Step(f"{TOPICS} --create --topic {'long' * 70} --partitions 1 --replication-factor 1"),
    *(
        Step(
            f"{TOPICS} --create --topic d{{x}} --partitions 1 --replication-factor 1 --config"
            f" {config}"
        )
        for config in _WRONG_CONFIGS
    ),
    Step(f"{TOPICS} --describe --topic a{{x}}", until="Leader: 0.*\n.*Leader: 0"),
    Step(f"{TOPICS} --describe --topic .*{{x}}", until="(?s)(Leader: 0.*){6}"),
    Step(f"{TOPICS} --describe --topic .*{{x}} --topics-with-overrides"),
    Step(f"{TOPICS} --describe --topic .*{{x}} --under-replicated-partitions"),
    Step(f"{TOPICS} --describe --topic .*{{x}} --unavailable-partitions"),
    Step(f"{TOPICS} --describe --topic no-such-topic"),
    Step(f"{TOPICS} --describe --topic ("),
    Step(f"{TOPICS} --list --topic a{{x}},c{{x}}"),
]
CHANGE: Final = [
    *topic_with_leaders("ch{x}", 1),
    Step(f"{TOPICS} --alter --topic ch{{x}} --partitions 2"),
    Step(f"{TOPICS} --alter --topic ch{{x}} --partitions 2"),
    Step(f"{TOPICS} --alter --topic ch{{x}} --partitions 1"),
    Step(f"{TOPICS} --alter --topic ch{{x}} --partitions 3 --replica-assignment 0,0,0"),
    Step(
        f"{TOPICS} --alter --topic ch{{x}} --partitions 4 --replica-assignment 0,0,0,7",
        but_errors=True,
    ),  # BrokerNotAvailable with 2.0
    Step(
        f"{TOPICS} --alter --topic ch{{x}} --config max.message.bytes=2048 --config retention.ms=5"
    ),
    Step(f"{TOPICS} --alter --topic ch{{x}} --delete-config retention.ms"),
    Step(f"{TOPICS} --alter --topic ch{{x}} --delete-config no.such"),
    Step(f"{TOPICS} --alter --topic ch{{x}} --config retention.ms=x"),
    Step(f"{TOPICS} --describe --topic ch{{x}}", until="(?s)(Leader: 0.*){3}"),
    Step(f"{TOPICS} --alter --topic no-such-topic --partitions 2"),
    Step(f"{TOPICS} --alter --topic no-such-topic --partitions 2 --if-exists"),
    Step(f"{TOPICS} --delete --topic ch{{x}}"),
    Step(f"{TOPICS} --delete --topic no-such-topic"),
    Step(f"{TOPICS} --delete --topic no-such-topic --if-exists"),
    Step(f"{TOPICS} --list --topic ch{{x}}", until="^$"),
]
CONFIGS: Final = [
    Step(f"{TOPICS} --create --topic co{{x}} --partitions 1 --replication-factor 1"),
    Step("configs --zookeeper {zk} --describe --entity-type topics --entity-name co{x}"),
    Step(
        "configs --zookeeper {zk} --alter --entity-type topics --entity-name co{x} --add-config"
        " retention.ms=5,cleanup.policy=[compact,delete]"
    ),
    Step(
        "configs --zookeeper {zk} --alter --entity-type topics --entity-name co{x} --add-config"
        " message.format.version=1.0"
    ),
    Step("configs --zookeeper {zk} --describe --entity-type topics --entity-name co{x}"),
    Step(
        "configs --zookeeper {zk} --alter --entity-type topics --entity-name co{x} --delete-config"
        " retention.ms"
    ),
    Step(
        "configs --zookeeper {zk} --alter --entity-type topics --entity-name co{x} --delete-config"
        " retention.ms,cleanup.policy"
    ),
    Step(
        "configs --zookeeper {zk} --alter --entity-type topics --entity-name co{x} --add-config"
        " retention.ms=soon"
    ),
    Step(
        "configs --zookeeper {zk} --alter --entity-type topics --entity-name co{x} --add-config"
        " no.such=1"
    ),
    Step(
        "configs --zookeeper {zk} --alter --entity-type topics --entity-name co{x} --add-config"
        " retention.ms"
    ),
    Step(
        "configs --zookeeper {zk} --alter --entity-type topics --entity-name no-such-topic"
        " --add-config retention.ms=5"
    ),
    Step("configs --zookeeper {zk} --describe --entity-type topics --entity-name co{x}"),
    Step(
        "configs --zookeeper {zk} --alter --entity-type clients --entity-name cl{x}/1 --add-config"
        " producer_byte_rate=1024"
    ),
    Step(
        "configs --zookeeper {zk} --alter --entity-type clients --entity-name cl{x} --add-config"
        " no.such=1024"
    ),
    Step(
        "configs --zookeeper {zk} --alter --entity-type clients --entity-name cl{x} --add-config"
        " producer_byte_rate=many"
    ),
    Step("configs --zookeeper {zk} --describe --entity-type clients --entity-name cl{x}/1"),
    Step("configs --zookeeper {zk} --describe --entity-type clients"),
    Step(
        "configs --zookeeper {zk} --alter --entity-type users --entity-name us{x} --entity-type"
        " clients --entity-name cl --add-config request_percentage=50"
    ),
    Step(
        "configs --zookeeper {zk} --alter --entity-type clients --entity-name cl --entity-type"
        " users --entity-name us{x} --add-config request_percentage=60"
    ),
    Step(
        "configs --zookeeper {zk} --alter --entity-type users --entity-name us{x} --entity-type"
        " clients --add-config request_percentage=50"
    ),
    Step(
        "configs --zookeeper {zk} --alter --entity-type users --entity-name us{x} --add-config"
        " consumer_byte_rate=5"
    ),
    Step(
        "configs --zookeeper {zk} --describe --entity-type users --entity-name us{x} --entity-type"
        " clients"
    ),
    Step("configs --zookeeper {zk} --describe --entity-type users --entity-name us{x}"),
    Step(
        "configs --zookeeper {zk} --alter --entity-type brokers --entity-name 0 --add-config"
        " log.cleaner.threads=2"
    ),
    Step(
        "configs --zookeeper {zk} --alter --entity-type brokers --entity-default --add-config"
        " log.cleaner.threads=2"
    ),
    Step(
        "configs --zookeeper {zk} --alter --entity-type brokers --entity-name zero --add-config"
        " log.cleaner.threads=2"
    ),
]
CONSOLE: Final = [
    *topic_with_leaders("cp{x}", 1),
    Step("console-producer --broker-list {bootstrap} --topic cp{x}", "one\ntwo\n\nthree"),
    Step(
        "console-producer --broker-list {bootstrap} --topic cp{x} --property parse.key=true",
        "k1\tv1\nk2\tv2\tand more\n\tno key\n",
    ),
    Step(
        "console-producer --broker-list {bootstrap} --topic cp{x} --property parse.key=true"
        " --property key.separator=:: --sync",
        "a::b\nc\nd::e\n",
    ),
    Step(
        "console-producer --broker-list {bootstrap} --topic cp{x} --property parse.key=true"
        " --property ignore.error=true --compression-codec",
        "z\tip\nno key\n",
    ),
    Step(
        "console-producer --broker-list {bootstrap} --topic cp{x} --request-required-acks all"
        " --compression-codec lz4",
        "grüße, 世界\n",
    ),
    Step(
        "console-consumer --bootstrap-server {bootstrap} --topic cp{x} --from-beginning"
        " --timeout-ms 3000"
    ),
    Step(
        "console-consumer --bootstrap-server {bootstrap} --topic cp{x} --from-beginning"
        " --max-messages 2 --group cg{x}"
    ),
    Step(
        "console-consumer --bootstrap-server {bootstrap} --topic cp{x} --max-messages 3 --group"
        " cg{x} --property print.key=true"
    ),
    Step(
        "console-consumer --bootstrap-server {bootstrap} --topic cp{x} --partition 0 --offset 4"
        " --max-messages 2 --property print.key=true"
    ),
    Step(
        "console-consumer --bootstrap-server {bootstrap} --topic cp{x} --partition 0 --offset"
        " earliest --max-messages 1"
    ),
    Step(
        "console-consumer --bootstrap-server {bootstrap} --topic cp{x} --partition 0 --timeout-ms"
        " 1000"
    ),
    Step(
        "console-consumer --bootstrap-server {bootstrap} --whitelist c[p]{x} --from-beginning"
        " --max-messages 1 --property print.value=false"
    ),
    Step(
        "console-consumer --bootstrap-server {bootstrap} --topic cp{x} --from-beginning"
        " --max-messages 5 --isolation-level read_committed --property print.key=true --property"
        " key.separator=|"
    ),
    Step(
        "console-consumer --bootstrap-server {bootstrap} --topic cp{x} --from-beginning"
        " --max-messages 0 --enable-systest-events"
    ),
    Step("consumer-groups --bootstrap-server {bootstrap} --describe --group cg{x}", any_order=True),
]
GROUPS: Final = [
    *topic_with_leaders("gr{x}", 3),
    Step(
        "console-producer --broker-list {bootstrap} --topic gr{x}",
        "".join(f"{number}\n" for number in range(30)),
    ),
    Step(
        "console-consumer --bootstrap-server {bootstrap} --topic gr{x} --from-beginning"
        " --max-messages 30 --group gg{x}",
        but_errors=True,
        any_order=True,
    ),
    Step("consumer-groups --bootstrap-server {bootstrap} --list", any_order=True),
    Step("consumer-groups --bootstrap-server {bootstrap} --describe --group gg{x}", any_order=True),
    Step("consumer-groups --bootstrap-server {bootstrap} --describe --group gg{x} --state"),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --describe --group gg{x} --members"
        " --verbose"
    ),
    Step("consumer-groups --bootstrap-server {bootstrap} --describe --group nobody"),
    Step("consumer-groups --bootstrap-server {bootstrap} --describe --group nobody --state"),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --topic gr{x}"
        " --to-offset 4",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --topic"
        " gr{x}:0,2 --to-offset 4 --execute",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --topic"
        " gr{x}:1 --to-offset 99 --execute",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --all-topics"
        " --shift-by -2 --execute",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --all-topics"
        " --shift-by -90 --dry-run --export",
        any_order=True,
    ),
    Step("consumer-groups --bootstrap-server {bootstrap} --describe --group gg{x}", any_order=True),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --all-topics"
        " --to-current --dry-run",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group new{x} --topic"
        " gr{x} --to-current --dry-run",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group new{x} --topic"
        " gr{x}:0 --shift-by 1 --dry-run",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --all-topics"
        " --to-datetime 2018-01-31T00:00:00.000 --dry-run",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --all-topics"
        " --to-datetime 2099-01-31T00:00:00.000+01 --dry-run",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --all-topics"
        " --to-datetime 2018-01-31Tnoon --dry-run",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --all-topics"
        " --by-duration P1Y2M3DT4H5M6.5S --dry-run",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --all-topics"
        " --by-duration PT0S --dry-run",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --from-file"
        " {dir}/plan-{x}.csv --execute",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --topic gr{x}"
        " --to-earliest --execute",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --topic gr{x}"
        " --to-latest --execute",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --topic gr{x}"
        " --to-offset x --dry-run",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --to-earliest"
        " --dry-run",
        any_order=True,
    ),
    Step(
        "consumer-groups --bootstrap-server {bootstrap} --reset-offsets --group gg{x} --topic gr{x}"
        " --dry-run",
        any_order=True,
    ),
    Step("consumer-groups --bootstrap-server {bootstrap} --delete --group gg{x} --group nobody"),
    Step("consumer-groups --bootstrap-server {bootstrap} --delete --group gg{x}"),
]
DELETION: Final = [
    *topic_with_leaders("dr{x}", 1),
    Step("console-producer --broker-list {bootstrap} --topic dr{x}", "a\nb\nc\nd\n"),
    Step("delete-records --bootstrap-server {bootstrap} --offset-json-file {dir}/delete-{x}.json"),
    Step("delete-records --bootstrap-server {bootstrap} --offset-json-file {dir}/twice-{x}.json"),
    Step("delete-records --bootstrap-server {bootstrap} --offset-json-file {dir}/no.json"),
    Step("delete-records --bootstrap-server {bootstrap} --offset-json-file {dir}/version.json"),
    Step("delete-records --bootstrap-server {bootstrap} --offset-json-file {dir}/nothing.json"),
    Step(
        "console-consumer --bootstrap-server {bootstrap} --topic dr{x} --partition 0 --offset"
        " earliest --max-messages 2"
    ),
]
PREFERRED: Final = "preferred-replica-election --zookeeper {zk}"
#: There is only one broker, and it leads already. test_election_tools covers elections that change
#: a leader.
ELECTIONS: Final = [
    *topic_with_leaders("el{x}", 2),
    Step(f"{PREFERRED} --path-to-json-file {{dir}}/elect-{{x}}.json", until="Created"),
    Step(f"{PREFERRED} --path-to-json-file {{dir}}/elect-some-{{x}}.json", until="Created"),
    Step(f"{PREFERRED} --path-to-json-file {{dir}}/elect-none.json", until="Created"),
    Step(f"{PREFERRED} --path-to-json-file {{dir}}/elect-twice-{{x}}.json"),
    Step(f"{PREFERRED} --path-to-json-file {{dir}}/elect-no-field.json"),
    Step(f"{PREFERRED} --path-to-json-file {{dir}}/elect-array.json"),
    Step(f"{PREFERRED} --path-to-json-file {{dir}}/no.json"),
    Step(f"{PREFERRED} --path-to-json-file {{dir}}/version.json", until="Created"),
    Step(f"{PREFERRED} --path-to-json-file {{dir}}/nothing.json"),
    Step(f"{PREFERRED} --path-to-json-file {{dir}}/no-such-file"),
]
REASSIGN: Final = "reassign-partitions --zookeeper {zk}"
#: There is only one broker, so no replica moves to another one. test_reassignment covers that.
REASSIGNMENT: Final = [
    *topic_with_leaders("re{x}", 1),
    Step(
        f"{REASSIGN} --generate --topics-to-move-json-file {{dir}}/topics-{{x}}.json"
        " --broker-list 0"
    ),
    Step(
        f"{REASSIGN} --generate --topics-to-move-json-file {{dir}}/topics-{{x}}.json"
        " --broker-list 0,0"
    ),
    Step(
        f"{REASSIGN} --generate --topics-to-move-json-file {{dir}}/topics-{{x}}.json"
        " --broker-list 7,8"
    ),
    Step(
        f"{REASSIGN} --execute --reassignment-json-file {{dir}}/move-{{x}}.json --throttle 5000",
        until="started",
    ),
    Step(
        f"{REASSIGN} --verify --reassignment-json-file {{dir}}/move-{{x}}.json", until="completed"
    ),
    Step(f"{REASSIGN} --verify --reassignment-json-file {{dir}}/move-far-{{x}}.json"),
    Step(f"{REASSIGN} --execute --reassignment-json-file {{dir}}/move-far-{{x}}.json"),
    Step(f"{REASSIGN} --execute --reassignment-json-file {{dir}}/move-gone-{{x}}.json"),
    Step(f"{REASSIGN} --execute --reassignment-json-file {{dir}}/move-twice-{{x}}.json"),
    Step(f"{REASSIGN} --execute --reassignment-json-file {{dir}}/move-dirs-{{x}}.json"),
    Step(f"{REASSIGN} --execute --reassignment-json-file {{dir}}/elect-none.json"),
    Step(f"{REASSIGN} --execute --reassignment-json-file {{dir}}/version.json"),
    Step(f"{REASSIGN} --execute --reassignment-json-file {{dir}}/no.json"),
    Step(f"{REASSIGN} --execute --reassignment-json-file {{dir}}/no-such-file"),
]
ALTER_BROKER: Final = "configs --bootstrap-server {bootstrap} --alter --entity-type brokers"
DESCRIBE_BROKER: Final = "configs --bootstrap-server {bootstrap} --describe --entity-type brokers"
BROKERS: Final = [
    Step(f"{ALTER_BROKER} --entity-name 0 --add-config num.io.threads=10"),
    Step(f"{DESCRIBE_BROKER} --entity-name 0", until="num.io.threads=10"),
    Step(
        f"{ALTER_BROKER} --entity-default --add-config num.io.threads=12,log.retention.ms=5000000"
    ),
    Step(f"{DESCRIBE_BROKER} --entity-default", until="num.io.threads=12", any_order=True),
    Step(f"{DESCRIBE_BROKER} --entity-name 0", until="DYNAMIC_DEFAULT"),
    Step(f"{ALTER_BROKER} --entity-name 0 --delete-config no.such"),
    Step(f"{ALTER_BROKER} --entity-name 0 --add-config num.io.threads=many", but_errors=True),
    Step(f"{ALTER_BROKER} --entity-name 0 --add-config broker.id=7", but_errors=True),
    Step(f"{ALTER_BROKER} --entity-name zero --add-config num.io.threads=8"),
    Step(f"{ALTER_BROKER} --entity-name 0 --delete-config num.io.threads"),
    Step(f"{ALTER_BROKER} --entity-default --delete-config num.io.threads,log.retention.ms"),
    Step(f"{DESCRIBE_BROKER} --entity-name 0", until="are:\n$"),
]
LOG_DIRS: Final = [
    Step("log-dirs"),
    Step("log-dirs --bootstrap-server {bootstrap}"),
    Step("log-dirs --describe"),
    *topic_with_leaders("ld{x}", 2),
    Step(
        "console-producer --broker-list {bootstrap} --topic ld{x} --sync --property parse.key=true",
        "a\tone\nb\ttwo\nc\tthree\n",
    ),
    Step("log-dirs --bootstrap-server {bootstrap} --describe --topic-list ld{x}"),
    Step(
        "log-dirs --bootstrap-server {bootstrap} --describe --topic-list nothing,,ld{x}"
        " --broker-list 0,"
    ),
    Step("log-dirs --bootstrap-server {bootstrap} --describe --broker-list zero"),
    Step("log-dirs --bootstrap-server {bootstrap} --describe --broker-list ,"),
    Step("log-dirs --bootstrap-server {bootstrap} --describe --topic-list nothing"),
]
#: Both kinds of tools change the one broker, so they run one after the other.
OF_THE_ONE_BROKER: Final = frozenset({"brokers"})
#: Wrong command lines, which need no broker.
OF_NOBODY: Final = frozenset({"usage", "usage-2.8"})
STORIES: Final = {
    "brokers": BROKERS,
    "usage": USAGE,
    "usage-2.8": USAGE_2_8,
    "creation": CREATION,
    "change": CHANGE,
    "configs": CONFIGS,
    "console": CONSOLE,
    "groups": GROUPS,
    "deletion": DELETION,
    "elections": ELECTIONS,
    "log-dirs": LOG_DIRS,
    "reassignment": REASSIGNMENT,
}


def write_files(folder: Path) -> None:
    """Write the files that the steps name."""
    for mark in MARKS:
        (folder / f"plan-{mark}.csv").write_text(f"gr{mark},0,3\ngr{mark},1,90\n")
        entry = f'{{"topic": "dr{mark}", "partition": 0, "offset": 2}}'
        (folder / f"delete-{mark}.json").write_text(f'{{"partitions": [{entry}], "version": 1}}')
        (folder / f"twice-{mark}.json").write_text(f'{{"partitions": [{entry}, {entry}]}}')
        elect = f'{{"topic": "el{mark}", "partition": 0}}'
        (folder / f"elect-{mark}.json").write_text(f'{{"partitions": [{elect}]}}')
        some = (
            f'{{"topic": "gone{mark}", "partition": 0}}, {elect}, {{"topic": "el{mark}",'
            ' "partition": 7}'
        )
        (folder / f"elect-some-{mark}.json").write_text(f'{{"partitions": [{some}]}}')
        (folder / f"elect-twice-{mark}.json").write_text(f'{{"partitions": [{elect}, {elect}]}}')
        (folder / f"topics-{mark}.json").write_text(f'{{"topics": [{{"topic": "re{mark}"}}]}}')
        move = f'{{"topic": "re{mark}", "partition": 0, "replicas": [0]}}'
        (folder / f"move-{mark}.json").write_text(f'{{"partitions": [{move}]}}')
        (folder / f"move-far-{mark}.json").write_text(
            f'{{"partitions": [{move.replace("[0]", "[7, 0, 8]")}]}}'
        )
        gone = f"{move.replace(f're{mark}', f'gone{mark}')}, {move.replace('0,', '9,')}"
        (folder / f"move-gone-{mark}.json").write_text(f'{{"partitions": [{gone}]}}')
        (folder / f"move-twice-{mark}.json").write_text(f'{{"partitions": [{move}, {move}]}}')
        (folder / f"move-dirs-{mark}.json").write_text(
            f'{{"partitions": [{move[:-1]}, "log_dirs": ["any", "any"]}}]}}'
        )
    (folder / "elect-none.json").write_text('{"partitions": []}')
    (folder / "elect-no-field.json").write_text('{"partitions": [{"topic": "el"}]}')
    (folder / "elect-array.json").write_text("[]")
    (folder / "no.json").write_text("{")
    (folder / "version.json").write_text('{"partitions": [], "version": 2}')
    (folder / "nothing.json").write_text('{"version": 1}')
