"""Create, delete, describe or change topics (Kafka: kafka-topics.sh).

With --zookeeper it reads and writes Kafka's znodes itself, as the tool of 2.0 does. With
--bootstrap-server it sends requests to the brokers, as Kafka's tool does since 2.2. (Kafka:
TopicCommand.scala)
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kafka_edu.tools.options import (
    Option,
    OptionParser,
    OptionSet,
    UsageError,
    check_invalid,
    check_required,
    java_integer,
)
from kafka_edu.tools.tool import (
    ToolCommand,
    ToolError,
    admin_operation,
    command_failed,
    failures,
    illegal_argument,
    java_class,
    log_error,
    run_tool,
    text_of,
    warn_of_gaps,
)

if TYPE_CHECKING:  # imported only for types, so that --help is fast
    from kafka_edu.tools.topic_service import TopicService

PURPOSE: Final = "Create, delete, describe, or change a topic."
LOGGER: Final = "kafka.admin.TopicCommand$"
#: In CreateTopics, -1 means the controller's num.partitions or default.replication.factor.
DEFAULT_SIZE: Final = -1
Action = Option[str]


class TopicOptions:
    """The tool's command-line options, and the rules about which options may be combined."""

    def __init__(self) -> None:
        self.parser = parser = OptionParser()
        self.zookeeper = parser.text(
            "zookeeper",
            "REQUIRED, unless --bootstrap-server is given: ZooKeeper's host:port, or several.",
            "hosts",
        )
        self.bootstrap_server = parser.text(
            "bootstrap-server",
            "Brokers to ask instead of ZooKeeper (from 2.2 on).",
            "server to connect to",
        )
        self.list = parser.flag("list", "List the topics.")
        self.create = parser.flag("create", "Create a topic.")
        self.delete = parser.flag("delete", "Delete a topic.")
        self.alter = parser.flag("alter", "Change a topic's partitions or configuration.")
        self.describe = parser.flag("describe", "Show the topics' partitions.")
        parser.flag("help", "Show these options.")
        self.topic = parser.text(
            "topic", "The topic; except with --create a regular expression.", "topic"
        )
        self.config = parser.text("config", _config_help, "name=value")
        self.delete_config = parser.text(
            "delete-config", "A key of the topic's configuration to go back to its default.", "name"
        )
        self.partitions = parser.integer(
            "partitions", "How many partitions the topic is to have.", "# of partitions"
        )
        self.replication_factor = parser.integer(
            "replication-factor",
            "How many replicas each partition is to have.",
            "replication factor",
        )
        self.replica_assignment = parser.text(
            "replica-assignment",
            "The brokers of each partition, chosen by hand.",
            "broker_id_for_part1_replica1 : broker_id_for_part1_replica2 ,"
            " broker_id_for_part2_replica1 : broker_id_for_part2_replica2 , ...",
        )
        self.under_replicated = parser.flag(
            "under-replicated-partitions",
            "Describe only partitions of which not all replicas are in sync.",
        )
        self.unavailable = parser.flag(
            "unavailable-partitions", "Describe only partitions whose leader is not available."
        )
        self.with_overrides = parser.flag(
            "topics-with-overrides", "Describe only topics with a configuration of their own."
        )
        self.if_exists = parser.flag(
            "if-exists", "With --alter and --delete: no error if there is no such topic."
        )
        self.if_not_exists = parser.flag(
            "if-not-exists", "With --create: no error if there is such a topic."
        )
        self.disable_rack_aware = parser.flag(
            "disable-rack-aware", "Assign replicas without regard to racks."
        )
        parser.flag("force", "Ask nothing.")

    def actions(self) -> tuple[Action, ...]:
        return self.alter, self.create, self.describe, self.list, self.delete

    def check(self, given: OptionSet) -> None:
        """Check the command line. Raises UsageError."""
        if sum(map(given.has, self.actions())) != 1:
            raise UsageError(
                "Command must include exactly one action: --list, --describe, --create, --alter or"
                " --delete"
            )
        if not given.has(self.bootstrap_server):
            check_required(given, self.zookeeper)
        elif given.has(self.zookeeper):
            raise UsageError("Only one of --bootstrap-server or --zookeeper must be specified")
        if not given.has(self.list) and not given.has(self.describe):
            check_required(given, self.topic)
        check_invalid(given, self.config, self._all_but(self.alter, self.create))
        check_invalid(given, self.delete_config, self._all_but(self.alter))
        check_invalid(given, self.partitions, self._all_but(self.alter, self.create))
        check_invalid(given, self.replication_factor, self._all_but(self.create))
        check_invalid(given, self.replica_assignment, self._all_but(self.alter, self.create))
        if given.has(self.create):
            check_invalid(
                given, self.replica_assignment, (self.partitions, self.replication_factor)
            )
        filters = (self.under_replicated, self.unavailable, self.with_overrides)
        for chosen in filters:
            check_invalid(
                given,
                chosen,
                (
                    *self._all_but(self.describe),
                    *(other for other in filters if other is not chosen),
                ),
            )
        check_invalid(given, self.if_exists, self._all_but(self.alter, self.delete))
        check_invalid(given, self.if_not_exists, self._all_but(self.create))

    def _all_but(self, *allowed: Action) -> list[Action]:
        return [action for action in self.actions() if action not in allowed]


def _config_help() -> str:
    from kafka_edu.log.log_config import TOPIC_CONFIG

    names = "".join(f"\t{key.name}\n" for key in TOPIC_CONFIG)
    return f"A value of the topic's configuration, at its creation or later. There are:\n{names}"


class TopicCommand:
    """One run of the tool."""

    def __init__(self, options: TopicOptions, given: OptionSet) -> None:
        self._options = options
        self._given = given
        self._warned = False
        """Whether settings without effect were already printed.

        They are printed once for all topics.
        """

    async def run(self) -> None:
        from kafka_edu.tools.topic_service import broker_topic_service, zookeeper_topic_service

        o, given = self._options, self._given
        if given.has(o.zookeeper):
            opened = zookeeper_topic_service(given.one(o.zookeeper))
        else:
            opened = broker_topic_service(given.one(o.bootstrap_server))
        async with opened as service:
            if given.has(o.create):
                await self._create(service)
            elif given.has(o.alter):
                await self._alter(service)
            elif given.has(o.list):
                await self._list(service)
            elif given.has(o.describe):
                await self._describe(service)
            else:
                await self._delete(service)

    async def _create(self, service: "TopicService") -> None:
        o, given = self._options, self._given
        topic = given.one(o.topic)
        configs = self._configs_to_add()
        if "." in topic or "_" in topic:
            print(
                "WARNING: Due to limitations in metric names, topics with a period ('.') or"
                " underscore ('_') could collide. To avoid issues it is best to use either, but not"
                " both."
            )
        assignment = given.value(o.replica_assignment)
        if assignment is None:
            if given.has(o.zookeeper):
                check_required(given, o.partitions, o.replication_factor)
            sizes = (
                _or_default(given.value(o.partitions)),
                _or_default(given.value(o.replication_factor)),
            )
            created = await service.create(
                topic,
                *sizes,
                configs,
                rack_aware=not given.has(o.disable_rack_aware),
                again=given.has(o.if_not_exists),
            )
        else:
            created = await service.create_assigned(
                topic, _parse_assignment(assignment), configs, again=given.has(o.if_not_exists)
            )
        if created:
            print(service.created(topic))

    async def _alter(self, service: "TopicService") -> None:
        o, given = self._options, self._given
        for topic in await self._topics(service, needed=not given.has(o.if_exists)):
            if given.has(o.config) or given.has(o.delete_config):
                print(
                    "WARNING: Altering topic configuration from this script has been deprecated and"
                    " may be removed in future releases."
                )
                print("         Going forward, please use kafka-configs.sh for this functionality")
                configs = await service.configs(topic) | self._configs_to_add()
                for name in self._configs_to_delete():
                    configs.pop(name, None)
                await service.change_config(topic, configs)
                print(f'Updated config for topic "{topic}".')
            if given.has(o.partitions):
                if topic == "__consumer_offsets":
                    raise illegal_argument(
                        "The number of partitions for the offsets topic cannot be changed."
                    )
                print(
                    "WARNING: If partitions are increased for a topic that has a key, the partition"
                    " logic or ordering of the messages will be affected"
                )
                await service.add_partitions(
                    topic, given.one(o.partitions), given.value(o.replica_assignment) or ""
                )
                print("Adding partitions succeeded!")

    async def _list(self, service: "TopicService") -> None:
        for topic in await self._topics(service):
            print(
                f"{topic} - marked for deletion"
                if await service.is_marked_for_deletion(topic)
                else topic
            )

    async def _delete(self, service: "TopicService") -> None:
        for topic in await self._topics(
            service, needed=not self._given.has(self._options.if_exists)
        ):
            for line in await service.delete(topic):
                print(line)

    async def _describe(self, service: "TopicService") -> None:
        o, given = self._options, self._given
        with_overrides, under_replicated, unavailable = map(
            given.has, (o.with_overrides, o.under_replicated, o.unavailable)
        )
        live = await service.live_brokers()
        for topic in await self._topics(service):
            description = await service.describe(topic)
            if description is None:
                print(f"Topic {topic} doesn't exist!")
                continue
            marked = await service.is_marked_for_deletion(topic)
            whole = not under_replicated and not unavailable
            if whole and (description.configs or not with_overrides):
                configs = ",".join(f"{key}={value}" for key, value in description.configs.items())
                print(
                    f"Topic:{topic}\tPartitionCount:{len(description.partitions)}\tReplicationFactor:{len(description.partitions[0].replicas)}"
                    f"\tConfigs:{configs}{_marked(marked)}"
                )
            for partition in [] if with_overrides else description.partitions:
                if (
                    whole
                    or (under_replicated and len(partition.isr) < len(partition.replicas))
                    or (unavailable and partition.leader not in live)
                ):
                    print(
                        f"\tTopic: {topic}\tPartition: {partition.number}\tLeader:"
                        f" {'none' if partition.leader is None else partition.leader}\tReplicas:"
                        f" {_joined(partition.replicas)}\tIsr:"
                        f" {_joined(partition.isr)}{_marked(marked and not whole, ' ')}"
                    )

    async def _topics(self, service: "TopicService", *, needed: bool = False) -> list[str]:
        """Return the topics that match --topic, or all topics without --topic.

        With `needed`, raises ToolError(IllegalArgumentException) if no topic matches.
        """
        topics = await service.topics()
        spec = self._given.value(self._options.topic)
        if spec is not None:
            pattern = _topic_filter(spec)
            topics = [topic for topic in topics if pattern.fullmatch(topic)]
        if needed and not topics:
            raise illegal_argument(f"Topic {spec} does not exist on {service.where}")
        return topics

    def _configs_to_add(self) -> dict[str, str]:
        """Return the checked values of --config.

        Raises ToolError, KafkaException, ConfigException.
        """
        from kafka_edu.common.topic import is_internal
        from kafka_edu.log.log_config import TOPIC_CONFIG
        from kafka_edu.server.admin.admin_zk_client import validate_topic_configs

        configs = {}
        for text in self._given.values(self._options.config):
            pair = re.split(r"\s*=\s*", text)
            if len(pair) != 2 or not pair[1]:
                raise illegal_argument(
                    "requirement failed: Invalid topic config: all configs to be added must be in"
                    ' the format "key=val".'
                )
            configs[pair[0].strip()] = pair[1].strip()
        validate_topic_configs(configs)
        if not self._warned and not is_internal(self._given.value(self._options.topic) or ""):
            self._warned = True
            warn_of_gaps(TOPIC_CONFIG.gaps(configs))
        if "message.format.version" in configs:
            print(
                "WARNING: The configuration"
                f" message.format.version={configs['message.format.version']} is specified. This"
                " configuration will be ignored if the version is newer than the"
                " inter.broker.protocol.version specified in the broker."
            )
        return configs

    def _configs_to_delete(self) -> list[str]:
        from kafka_edu.server.admin.admin_zk_client import validate_topic_config_names

        names = [name.strip() for name in self._given.values(self._options.delete_config)]
        validate_topic_config_names(names)
        return names


def _marked(marked: bool, space: str = "") -> str:
    return f"\tMarkedForDeletion:{space}true" if marked else ""


def _joined(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))


def _topic_filter(spec: str) -> re.Pattern[str]:
    """Return a regular expression for topic names. Commas separate alternatives.

    Quotes around the text are ignored (Kafka: Whitelist).
    """
    regex = spec.strip().replace(",", "|").replace(" ", "").strip("\"'")
    try:
        return re.compile(regex)
    except re.error:
        raise ToolError("java.lang.RuntimeException", f"{regex} is an invalid regex.") from None


def _or_default(size: int | None) -> int:
    """Return the number from the command line. Return DEFAULT_SIZE if there is none (KIP-464).

    For DEFAULT_SIZE, the brokers use their own default.
    """
    return DEFAULT_SIZE if size is None else size


def _parse_assignment(text: str) -> Mapping[int, list[int]]:
    """Parse `0:1,1:2`: commas separate partitions, colons their brokers.

    Return the brokers of each partition. Raises ToolError, NumberError.
    """
    assignment: dict[int, list[int]] = {}
    for number, brokers_text in enumerate(text.split(",")):
        brokers = [java_integer(part.strip()) for part in brokers_text.split(":")]
        twice = sorted({broker for broker in brokers if brokers.count(broker) > 1})
        if twice:
            raise command_failed(
                f"Partition replica lists may not contain duplicate entries: {_joined(twice)}"
            )
        assignment[number] = brokers
        if len(brokers) != len(assignment[0]):
            raise admin_operation(
                f"Partition {number} has different replication factor: {_joined(brokers)}"
            )
    return assignment


def main(words: Sequence[str]) -> int:
    """Run the tool. Return 0, or 1 for every failure.

    The reason goes to standard output, as with Kafka's tool.
    """
    options = TopicOptions()

    def run() -> int:
        from kafka_edu.tools.zookeeper import ZooKeeperClientTimeoutError

        given = options.parser.parse(words)
        if not words:
            raise UsageError(PURPOSE)
        options.check(given)
        try:
            asyncio.run(TopicCommand(options, given).run())
        except ZooKeeperClientTimeoutError:
            raise
        except failures() as error:
            print(f"Error while executing topic command : {text_of(error)}")
            log_error(f"{java_class(error)}: {text_of(error)}\n", LOGGER)
            return 1
        return 0

    return run_tool(options.parser, words, run, PURPOSE)


topics = ToolCommand("topics", main, PURPOSE)
