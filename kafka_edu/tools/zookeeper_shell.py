"""Read and change znodes by commands (Kafka: zookeeper-shell.sh).

    kafka-edu zookeeper-shell 127.0.0.1:2181 ls /brokers/ids
    kafka-edu zookeeper-shell --release 3.5 127.0.0.1:2181/chroot

The commands are those of ZooKeeper 3.4, which ships with Kafka 2.0. A command that only 3.5 has
(`ls -s`, `deleteall`) works as in 3.5. With `--release 3.5` all commands work as in 3.5, as with
Kafka since 2.4. Without a command, the shell reads lines from standard input. Kafka's script runs
ZooKeeper's class ZooKeeperMain.
"""

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kafka_edu.common.interruptible_input import typed_lines
from kafka_edu.common.python_process import command_line
from kafka_edu.tools.options import NumberError, java_integer
from kafka_edu.tools.tool import ToolCommand, ToolError, java_class

if TYPE_CHECKING:
    from kafka_edu.tools.zookeeper_session import Notification, ZooKeeperSession

PURPOSE: Final = "Look into ZooKeeper and change it, by one command or line by line."
USAGE: Final = (
    f"USAGE: {command_line('zookeeper-shell')} [--release 3.4|3.5] zookeeper_host:port[/path]"
    " [args...]"
)
RELEASES: Final = ("3.4", "3.5")
NOT_FOUND: Final = 127
_HISTORY_SHOWN: Final = 10
#: Matches one word, or several words in quotes.
_WORDS: Final = re.compile(r"""\s*([^"'\s]\S*|"[^"]*"|'[^']*')\s*""")


def split_line(line: str) -> list[str]:
    """Split a line into words. Words in quotes stay together, and the quotes are removed."""
    words = _WORDS.findall(line)
    return [
        word[1:-1] if len(word) > 1 and word[0] in "\"'" and word[-1] == word[0] else word
        for word in words
    ]


class ZooKeeperShell:
    """One shell: its connection, its history of commands, and whether it prints notifications."""

    def __init__(self, host: str, release: str) -> None:
        self._host = host
        self._release = release
        self._history: list[str] = []
        self._print_watches = True
        self._session: ZooKeeperSession | None = None
        self.exit_code = 0
        """The exit code of the previous command. It is always 0 for commands of 3.4."""

    def connect(self, host: str) -> None:
        """Close any present session and open a new one. Raises ToolError for an invalid address."""
        from kafka_edu.tools.zookeeper_session import ZooKeeperSession

        self._close()
        self._host = host
        try:
            self._session = ZooKeeperSession(host, self._notify)
        except ValueError as error:
            raise ToolError("java.lang.IllegalArgumentException", str(error)) from None

    def close(self) -> None:
        """End the session, if there is one."""
        if self._session is not None:
            self._session.close()

    def _close(self) -> None:
        """Close the session because the user requested it. The 3.5 shell then prints a message."""
        if self._session is not None and self._session.alive:
            self.close()
            if self._release == "3.5":
                self._notify("WatchedEvent state:Closed type:None path:null")

    def _notify(self, notification: "Notification | str") -> None:
        """Print a notification. kazoo's thread calls this method too."""
        if self._print_watches:
            sys.stdout.write(f"\nWATCHER::\n\n{notification}\n")
            sys.stdout.flush()

    def read_lines(self) -> None:
        """Carry out the lines of standard input until its end or `quit`."""
        print("Welcome to ZooKeeper!\nJLine support is disabled", flush=True)
        if self._session is not None:
            self._session.wait()
        with typed_lines() as lines:
            for line in lines:
                words = split_line(line.rstrip("\n"))
                if not words:
                    continue
                self._history.append(line.rstrip("\n"))
                if not self.perform(words):
                    return

    def perform(self, words: Sequence[str]) -> bool:
        """Carry out one command. Return False after `quit`, otherwise True.

        Raises ToolError for errors that end the shell.
        """
        from kafka_edu.tools import zookeeper_commands_3_4, zookeeper_commands_3_5

        is_3_5 = self._release == "3.5" or zookeeper_commands_3_5.only_here(words)
        commands = zookeeper_commands_3_5 if is_3_5 else zookeeper_commands_3_4
        self.exit_code = 0
        if words[0] not in commands.USAGE:
            sys.stderr.write(zookeeper_commands_3_4.usage_text(commands.USAGE) + "\n")
            if is_3_5:
                sys.stderr.write(f"Command not found: Command not found {words[0]}\n")
                self.exit_code = NOT_FOUND
            return True
        go_on = self._perform_own(words, is_3_5)
        if go_on and words[0] != "redo":
            if self._session is None or not self._session.alive:
                print("Not connected")
            elif words[0] == "close":
                self._close()
            else:
                self.exit_code = commands.perform(self._session, words)
        sys.stdout.flush()
        sys.stderr.flush()
        return go_on

    def _perform_own(self, words: Sequence[str], is_3_5: bool) -> bool:
        """Carry out a command of the shell itself, such as `history`. Return False after `quit`."""
        match words:
            case ["quit", *_]:
                if not is_3_5:
                    print("Quitting...")
                return False
            case ["redo", which, *_]:
                return self._redo(which)
            case ["history", *_]:
                first = max(len(self._history) - _HISTORY_SHOWN - 1, 0)
                for number, line in enumerate(self._history[first:], first):
                    print(f"{number} - {line}")
            case ["printwatches"]:
                print(f"printwatches is {'on' if self._print_watches else 'off'}")
            case ["printwatches", wanted, *_]:
                self._print_watches = wanted == "on"
            case ["connect", *where]:
                self.connect(where[0] if where else self._host)
                if self._session is not None:
                    self._session.wait()
        return True

    def _redo(self, which: str) -> bool:
        try:
            line = java_integer(which)
        except NumberError as error:
            if self._release == "3.5":
                raise
            sys.stderr.write(f"Command failed: {java_class(error)}: {error}\n")
            return True
        if not 0 <= line < len(self._history) - 1:
            return self._no_redo("Command index out of range")
        words = split_line(self._history[line])
        if words[0] == "redo":
            return self._no_redo("No redoing redos")
        self._history[-1] = self._history[line]
        return self.perform(words)

    def _no_redo(self, why: str) -> bool:
        """Report that `redo` cannot repeat a command: as an error in 3.5, as a remark in 3.4."""
        if self._release == "3.5":
            sys.stderr.write(f"{why}\n")
            self.exit_code = 1
        else:
            print(why)
        return True


def _options(words: Sequence[str]) -> tuple[str, list[str]] | None:
    """Return the release and the words after the options, or None for an invalid option."""
    if words[:1] == ["--release"]:
        return (words[1], list(words[2:])) if len(words) > 1 and words[1] in RELEASES else None
    return RELEASES[0], list(words)


def main(words: Sequence[str]) -> int:
    """Run the shell and return its exit code.

    It is 1 if no server address is given, as with Kafka's script. Otherwise the code is the same as
    ZooKeeperMain's.
    """
    if "--help" in words:
        print(f"{PURPOSE}\n{USAGE}")
        return 0
    given = _options(words)
    if given is None or not given[1]:
        sys.stderr.write(f"{USAGE}\n")
        return 1
    release, (host, *command) = given
    shell = ZooKeeperShell(host, release)
    print(f"Connecting to {host}", flush=True)
    try:
        shell.connect(host)
        if command:
            shell.perform(command)
        else:
            shell.read_lines()
    except (ToolError, NumberError, OSError) as error:
        sys.stderr.write(f'Exception in thread "main" {java_class(error)}: {error}\n')
        return 1
    finally:
        shell.close()
    return shell.exit_code


zookeeper_shell = ToolCommand("zookeeper-shell", main, PURPOSE)
