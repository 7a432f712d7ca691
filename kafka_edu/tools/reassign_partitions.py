"""Move partitions between brokers (Kafka: kafka-reassign-partitions.sh).

With --zookeeper it writes the wanted assignment into a znode, as Kafka's tool of 2.0 does. With
only --bootstrap-server it sends requests to the controller, as the tool of 2.8 does, and can also
list and cancel reassignments. (Kafka: ReassignPartitionsCommand.scala)
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from kafka_edu.tools.options import (
    Named,
    OptionParser,
    OptionSet,
    UsageError,
    check_invalid,
    check_required,
)
from kafka_edu.tools.tool import (
    ToolCommand,
    failures,
    java_class,
    properties_of,
    read_text_file,
    run_tool,
    text_of,
)

PURPOSE: Final = "This command moves topic partitions between replicas."
_FILE: Final = (
    'A file with the future brokers of each partition, as in\n{"partitions":\n '
    ' [{"topic": "foo", "partition": 1, "replicas": [1,2,3],\n    "log_dirs":'
    ' ["any","any","/data"]}],\n "version":1\n}\nWithout "log_dirs" any will do.'
)
_TOPICS_FILE: Final = (
    'A file that says which topics are to be moved, as in\n{"topics":\n  [{"topic":'
    ' "foo"},{"topic": "foo1"}],\n "version":1\n}'
)


class ReassignPartitionsOptions:
    """The tool's command-line options, and the rules about which options may be combined."""

    def __init__(self) -> None:
        self.parser = parser = OptionParser()
        self.bootstrap_server = parser.text(
            "bootstrap-server",
            "The broker to ask first; with --zookeeper only where log dirs are named.",
            "Server(s) to use for bootstrapping",
        )
        self.zookeeper = parser.text(
            "zookeeper",
            "ZooKeeper's host:port, or several: order the move there, as up to 2.4.",
            "urls",
        )
        self.generate = parser.flag("generate", "Propose an assignment; nothing is moved.")
        self.execute = parser.flag(
            "execute", "Begin the move that --reassignment-json-file describes."
        )
        self.verify = parser.flag(
            "verify",
            "Show the progress of that move. When the move is complete, its throttles are removed.",
        )
        self.cancel = parser.flag("cancel", "Cancel that move (from 2.5 on).")
        self.list = parser.flag("list", "List the running moves (from 2.5 on).")
        parser.flag("help", "Show these options.")
        self.file = parser.text("reassignment-json-file", _FILE, "manual assignment json file path")
        self.topics_file = parser.text(
            "topics-to-move-json-file", _TOPICS_FILE, "topics to reassign json file path"
        )
        self.broker_list = parser.text(
            "broker-list", "The brokers to move the topics to: 0,1,2.", "brokerlist"
        )
        self.disable_rack_aware = parser.flag(
            "disable-rack-aware", "Assign replicas without regard to racks."
        )
        self.throttle = parser.long(
            "throttle", "The most bytes/s between brokers.", "throttle", default=-1
        )
        self.log_dirs_throttle = parser.long(
            "replica-alter-log-dirs-throttle",
            "The most bytes/s between log dirs.",
            "replicaAlterLogDirsThrottle",
            default=-1,
        )
        self.timeout = parser.long(
            "timeout", "How many ms the begin may take.", "timeout", default=10000
        )
        self.additional = parser.flag(
            "additional",
            "With --execute: also while other partitions are on the move (from 2.5 on).",
        )
        self.preserve_throttles = parser.flag(
            "preserve-throttles", "Leave the throttles as they are (from 2.6 on)."
        )
        self.command_config = parser.text(
            "command-config", "A file of the client's properties.", "Admin client property file"
        )

    def check(self, given: OptionSet) -> None:
        """Check the command line. Raises UsageError."""
        if given.has(self.zookeeper) or not given.has(self.bootstrap_server):
            self._check_2_0(given)
        else:
            self._check_2_8(given)

    def _check_2_0(self, given: OptionSet) -> None:
        actions = self.generate, self.execute, self.verify
        newer = [option for option in (self.list, self.cancel) if given.has(option)]
        if len(newer) == 1 and not any(map(given.has, actions)):
            if given.has(self.zookeeper):
                raise UsageError(
                    f'Option "{self.zookeeper}" can\'t be used with action "{newer[0]}"'
                )
            raise UsageError("Please specify --bootstrap-server")
        if newer or sum(map(given.has, actions)) != 1:
            raise UsageError(
                "Command must include exactly one action: --generate, --execute or --verify"
            )
        check_required(given, self.zookeeper)
        for option in (self.additional, self.preserve_throttles):
            check_invalid(given, self.zookeeper, (option,))
        generating = self.topics_file, self.disable_rack_aware, self.broker_list
        throttles = self.throttle, self.log_dirs_throttle
        if given.has(self.verify):
            if not given.has(self.file):
                raise UsageError(
                    "If --verify option is used, command must include --reassignment-json-file that"
                    " was used during the --execute option"
                )
            check_invalid(given, self.verify, (*throttles, *generating))
        elif given.has(self.generate):
            if not given.has(self.topics_file) or not given.has(self.broker_list):
                raise UsageError(
                    "If --generate option is used, command must include both"
                    " --topics-to-move-json-file and --broker-list options"
                )
            check_invalid(given, self.generate, (*throttles, self.file))
        else:
            if not given.has(self.file):
                raise UsageError(
                    "If --execute option is used, command must include --reassignment-json-file"
                    " that was output during the --generate option"
                )
            check_invalid(given, self.execute, generating)

    def _check_2_8(self, given: OptionSet) -> None:
        rest: dict[Named, tuple[Named, ...]] = {
            self.generate: (self.topics_file, self.broker_list, self.disable_rack_aware),
            self.execute: (
                self.file,
                self.additional,
                self.log_dirs_throttle,
                self.throttle,
                self.timeout,
            ),
            self.verify: (self.file, self.preserve_throttles),
            self.cancel: (self.file, self.preserve_throttles, self.timeout),
            self.list: (),
        }
        chosen = [action for action in rest if given.has(action)]
        if len(chosen) != 1:
            raise UsageError(
                "Command must include exactly one action: --generate, --execute, --verify,"
                " --cancel, --list"
            )
        action = chosen[0]
        needed: dict[Named, tuple[Named, ...]] = {
            self.generate: (self.topics_file, self.broker_list),
            self.list: (),
        }
        check_required(given, *needed.get(action, (self.file,)))
        always = {action, self.bootstrap_server, self.command_config}
        for name in given.order:
            if name not in {option.name for option in (*always, *rest[action])}:
                raise UsageError(f'Option "[{name}]" can\'t be used with action "{action}"')


async def _by_zookeeper(o: ReassignPartitionsOptions, given: OptionSet) -> None:
    from kafka_edu.tools.reassign_by_zookeeper import ZooKeeperReassignments
    from kafka_edu.tools.reassignment_plan import Throttle
    from kafka_edu.tools.zookeeper import zookeeper

    async with zookeeper(given.one(o.zookeeper)) as zk:
        service = ZooKeeperReassignments(zk, given.value(o.bootstrap_server) or "")
        if given.has(o.verify):
            await service.verify(read_text_file(given.one(o.file)))
        elif given.has(o.generate):
            await service.generate(
                read_text_file(given.one(o.topics_file)),
                given.one(o.broker_list),
                not given.has(o.disable_rack_aware),
            )
        else:
            throttle = Throttle(given.one(o.throttle), given.one(o.log_dirs_throttle))
            await service.execute(read_text_file(given.one(o.file)), throttle, given.one(o.timeout))


async def _by_brokers(o: ReassignPartitionsOptions, given: OptionSet) -> None:
    from kafka_edu.tools.admin_client import open_admin
    from kafka_edu.tools.reassign_by_brokers import BrokerReassignments
    from kafka_edu.tools.reassignment_plan import CLIENT_ID, Throttle

    properties = properties_of(given, o.command_config)
    async with open_admin(given.one(o.bootstrap_server), properties, CLIENT_ID) as admin:
        service = BrokerReassignments(admin)
        if given.has(o.list):
            await service.list()
        elif given.has(o.generate):
            await service.generate(
                read_text_file(given.one(o.topics_file)),
                given.one(o.broker_list),
                not given.has(o.disable_rack_aware),
            )
        elif given.has(o.verify):
            await service.verify(read_text_file(given.one(o.file)), given.has(o.preserve_throttles))
        elif given.has(o.cancel):
            await service.cancel(read_text_file(given.one(o.file)), given.has(o.preserve_throttles))
        else:
            throttle = Throttle(given.one(o.throttle), given.one(o.log_dirs_throttle))
            await service.execute(
                read_text_file(given.one(o.file)),
                throttle,
                given.has(o.additional),
                given.one(o.timeout),
            )


def main(words: Sequence[str]) -> int:
    """Run the tool and return its exit code.

    The exit code is 1 after a failure. With ZooKeeper it is 0 even after a failure, as with the
    tool of 2.0.
    """
    options = ReassignPartitionsOptions()

    def run() -> int:
        from kafka_edu.tools.reassign_by_brokers import TerseError
        from kafka_edu.tools.zookeeper import ZooKeeperClientTimeoutError

        if not words:
            raise UsageError(PURPOSE)
        given = options.parser.parse(words)
        options.check(given)
        by_zookeeper = given.has(options.zookeeper)
        try:
            asyncio.run(
                _by_zookeeper(options, given) if by_zookeeper else _by_brokers(options, given)
            )
        except ZooKeeperClientTimeoutError:
            raise
        except TerseError as terse:
            print(terse)
        except failures() as error:
            print(
                f"{'Partitions reassignment failed due to' if by_zookeeper else 'Error:'}"
                f" {text_of(error)}"
            )
            print(f"{java_class(error)}: {text_of(error)}\n")
        else:
            return 0
        return 0 if by_zookeeper else 1

    return run_tool(options.parser, words, run, PURPOSE)


reassign_partitions = ToolCommand("reassign-partitions", main, PURPOSE)
