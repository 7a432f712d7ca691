"""The command-line options of kafka-consumer-groups (Kafka: ConsumerGroupCommandOptions)."""

import sys

from kafka_edu.tools.options import (
    Option,
    OptionParser,
    OptionSet,
    UsageError,
    check_invalid,
    check_required,
)


class GroupOptions:
    """The tool's command-line options, and the rules about which options may be combined."""

    def __init__(self) -> None:
        self.parser = parser = OptionParser()
        self.bootstrap_server = parser.text(
            "bootstrap-server", "REQUIRED: The brokers to ask.", "server to connect to"
        )
        self.group = parser.text("group", "The consumer group.", "consumer group")
        self.topic = parser.text(
            "topic",
            "With --reset-offsets: a topic, or some of its partitions as in web:0,1. May be given"
            " again.",
            "topic",
        )
        self.all_topics = parser.flag(
            "all-topics", "With --reset-offsets: all partitions that the group has committed for."
        )
        self.list = parser.flag("list", "List the groups.")
        self.describe = parser.flag("describe", "Describe a group.")
        self.delete = parser.flag(
            "delete", "Delete groups, --group g1 --group g2, that have no members."
        )
        self.timeout = parser.long(
            "timeout",
            "How long to wait for each answer, and with --describe for a group that is being"
            " formed.",
            "timeout (ms)",
            default=5000,
        )
        self.command_config = parser.text(
            "command-config", "A file of the client's properties.", "command config property file"
        )
        self.reset = parser.flag(
            "reset-offsets",
            "Reset a group's offsets. --topic or --all-topics selects them. The new offsets come"
            " from --to-offset, --to-earliest, --to-latest, --to-current, --shift-by,"
            " --to-datetime, --by-duration or --from-file. The group must have no members.",
        )
        self.dry_run = parser.flag(
            "dry-run", "With --reset-offsets: only show the new offsets. The default."
        )
        self.execute = parser.flag("execute", "With --reset-offsets: do it.")
        self.export = parser.flag(
            "export", "With --reset-offsets: show it as CSV, as --from-file reads it."
        )
        self.to_offset = parser.long("to-offset", "To this offset.", "offset")
        self.from_file = parser.text(
            "from-file", "To what a CSV file says: topic,partition,offset.", "path to CSV file"
        )
        self.to_datetime = parser.text(
            "to-datetime", "To the first records from then on: 2018-01-31T12:00:00.000", "datetime"
        )
        self.by_duration = parser.text(
            "by-duration", "To the first records of the last P1DT2H3M4S.", "duration"
        )
        self.to_earliest = parser.flag("to-earliest", "To the first records there are.")
        self.to_latest = parser.flag("to-latest", "To the end.")
        self.to_current = parser.flag(
            "to-current", "To the offset that is committed now, or to the end if there is none."
        )
        self.shift_by = parser.long(
            "shift-by", "Forward by this many records (back, if negative).", "number-of-offsets"
        )
        self.members = parser.flag(
            "members",
            "Describe the group's members.",
            available_if="describe",
            available_unless=("offsets", "state"),
        )
        self.verbose = parser.flag("verbose", "Say more.", available_if="describe")
        self.offsets = parser.flag(
            "offsets",
            "Describe its offsets. The default.",
            available_if="describe",
            available_unless=("members", "state"),
        )
        self.state = parser.flag(
            "state",
            "Describe its state.",
            available_if="describe",
            available_unless=("members", "offsets"),
        )

    def scenarios(self) -> tuple[Option[int] | Option[str], ...]:
        """Return the options that select the new offsets when a group is reset."""
        return (
            self.to_offset,
            self.to_datetime,
            self.by_duration,
            self.to_earliest,
            self.to_latest,
            self.to_current,
            self.shift_by,
            self.from_file,
        )

    def check(self, given: OptionSet) -> None:
        """Check the command line. Raises UsageError."""
        actions = (self.list, self.describe, self.delete, self.reset)
        if sum(map(given.has, actions)) != 1:
            raise UsageError(
                "Command must include exactly one action: --list, --describe, --delete,"
                " --reset-offsets"
            )
        check_required(given, self.bootstrap_server)
        if given.has(self.delete) and given.has(self.topic):
            raise UsageError(
                "The consumer does not support topic-specific offset deletion from a consumer"
                " group."
            )
        if given.has(self.describe):
            check_required(given, self.group)
        if given.has(self.delete) and not given.has(self.group):
            raise UsageError(f"Option {self.delete} takes {self.group}")
        if given.has(self.reset):
            self._check_reset(given)
        check_invalid(given, self.group, (self.list,))
        check_invalid(given, self.topic, (self.list, self.describe))

    def _check_reset(self, given: OptionSet) -> None:
        if given.has(self.dry_run) and given.has(self.execute):
            raise UsageError(
                f"Option {self.reset} only accepts one of {self.execute} and {self.dry_run}"
            )
        if not given.has(self.dry_run) and not given.has(self.execute):
            sys.stderr.write(
                "WARN: No action will be performed as the --execute option is missing.In a future"
                " major release, the default behavior of this command will be to prompt the user"
                " before executing the reset rather than doing a dry run. You should add the"
                " --dry-run option explicitly if you are scripting this command and want to keep"
                " the current default behavior without prompting.\n"
            )
        check_required(given, self.group)
        for scenario in self.scenarios():
            check_invalid(
                given, scenario, (other for other in self.scenarios() if other is not scenario)
            )
