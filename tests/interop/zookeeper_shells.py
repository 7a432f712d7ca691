"""Run the same commands in ZooKeeper's own shells and in ours. The shells are of 3.4.13 (Kafka
2.0.1 ships it) and of 3.5.9 (2.8.2).

`python -m tests.interop.zookeeper_shells` records their output, on Apache ZooKeeper, into
tests/golden/tools.
"""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.maven_jars import maven_jars
from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.zk.apache import ApacheZooKeeper
from tests.interop.tools import GOLDEN, JAVA, LOG4J

VERSIONS: Final = {"3.4": "3.4.13", "3.5": "3.5.9"}
TIMEOUT_S: Final = 120
#: Java prints an address as `127.0.0.1/<unresolved>` since Java 14. 3.4's client takes that text
#: for the server's name, so the file gives this name to the server.
HOSTS: Final = "127.0.0.1 localhost 127.0.0.1/<unresolved> localhost/<unresolved>\n"

#: Commands that both releases know. Their output differs.
BOTH: Final = """create /shell hello
create /shell again
create /shell/a one
create -e /shell/e ephemeral
create -s /shell/q- sequence
create -e -s /shell/es- x
create -s -e /shell/es- x
create /shell/read d world:anyone:rw
create /shell/bad-acl d foo
create /nope/child x
create /shell/e/child x
create no-slash x
create
ls /shell
ls2 /shell
ls /nope
ls /shell/
ls /shell//a
ls /shell/./a
ls
get /shell/a
get /nope
get no-slash
get
set /shell/a two
set /shell/a three 0
set /shell/a three 1
set /nope x
set /shell/a
stat /shell/a
stat /nope
stat
getAcl /shell/a
getAcl /shell/read
getAcl /nope
setAcl /shell/a world:anyone:cdrwa
setAcl /shell/read world:anyone:az
setAcl /shell/a bad
setAcl /nope world:anyone:r
setAcl /shell
sync /shell
addauth digest bob:secret
create /shell/auth d auth::cdrwa
getAcl /shell/auth
get /shell/read
listquota /shell
setquota -n 10 /shell
listquota /shell
delquota -n /shell
listquota /shell
delquota /shell
listquota /shell
delquota /shell
create /shell/quoted "two words"
get /shell/quoted
create '/shell/single' 'it is'
get "/shell/single"
delete /shell
delete /shell/nope
delete /shell/a 99
delete /shell/single 0
delete
printwatches
printwatches off
printwatches
history
redo 0
redo 999
printwatches on
get /shell/e watch
set /shell/e changed
ls /shell watch
delete /shell/quoted
stat /shell/new watch
rmr /nope
rmr /shell/auth
foo bar
rmr /shell
ls /shell
close
ls /
connect
stat /shell"""
ONLY_3_5: Final = """create /shell
create /shell/nodata
get /shell/nodata
get -s /shell/nodata
set -s /shell/nodata x
set -v 7 /shell/nodata y
set -v 1 /shell/nodata y
set -z /shell/nodata y
set /shell/nodata z -v
ls -s /shell
create /shell/nodata/below x
create /shell/above x
ls -R /shell
ls -R /nope
ls -sw /shell
get -w /shell/above
stat -w /shell
getAcl -s /shell/above
setAcl -s /shell/above world:anyone:cdrwa
setAcl -v 9 /shell/above world:anyone:cdrwa
setAcl -R /shell world:anyone:cdrwa
delete -v 9 /shell/above
delete -v 0 /shell/above
deleteall /nope
deleteall /shell
ls /shell"""
STORIES: Final = {"3.4": BOTH, "3.5": f"{BOTH}\n{ONLY_3_5}"}
#: A single command as arguments: the release that knows it, and the words. Each command fails or
#: only reads.
ONE_SHOT: Final = [
    ("3.4", "get /zookeeper"),
    ("3.4", "get /nope"),
    ("3.4", "foo"),
    ("3.4", "ls"),
    ("3.5", "ls /zookeeper"),
    ("3.5", "get /nope"),
    ("3.5", "foo"),
    ("3.5", "ls"),
    ("3.5", "set -v y /zookeeper x"),
    ("3.5", "setquota -n 1 /nope"),
]

_DATE: Final = re.compile(r"(?<=time = )\w{3} \w{3} \d\d \d\d:\d\d:\d\d \w+ \d{4}")
_ZXID: Final = re.compile(r"(?<=[cmp]Zxid = )0x[0-9a-f]+")
_SESSION: Final = re.compile(r"(?<=ephemeralOwner = )0x[0-9a-f]{2,}")
_LIST: Final = re.compile(r"^\[([^\]]*)\]", re.MULTILINE)
#: The event thread prints each of these in one piece. It may print between any two pieces of the
#: command thread, so the line before may not have ended.
_WATCHER: Final = re.compile(r"\nWATCHER::\n")
_EVENT: Final = re.compile(r"\n(WatchedEvent state:.*)\n")
_SYNC: Final = re.compile(r"Sync .*\n")
_TRACE: Final = re.compile(r"^\tat .*\n", re.MULTILINE)
_USAGE: Final = re.compile(r"(ZooKeeper -server host:port cmd args\n)((?:\t.*\n)+)")
#: Commands and options in the usage text that only the Java shells have.
_NOT_OURS: Final = re.compile(
    r"^\t(?:config|reconfig|removewatches) .*\n| \[-c\] \[-t ttl\]", re.MULTILINE
)


class Said(NamedTuple):
    """The output of a shell. `watches` and the answer to Sync are kept apart, because the moment at
    which they arrive varies.
    """

    code: int
    out: str
    err: str
    watches: list[str]


def shell_command(release: str, connect: str, folder: Path) -> list[str]:
    """Return the command of ZooKeeper's own shell. Raises PeerMissing."""
    (folder / "log4j.properties").write_text(LOG4J)
    (folder / "hosts").write_text(HOSTS)
    version = VERSIONS[release]
    logging = ["org.slf4j:slf4j-log4j12:1.7.25"]
    more = ["commons-cli:commons-cli:1.4"] if release == "3.5" else []
    folder_of_jars = maven_jars(
        f"zookeeper-shell-{version}", [f"org.apache.zookeeper:zookeeper:{version}", *logging, *more]
    )
    jars = [
        str(jar) for jar in folder_of_jars.glob("*.jar") if not jar.name.startswith("jline")
    ]  # Kafka ships without it
    options = [
        f"-Dlog4j.configuration=file:{folder}/log4j.properties",
        f"-Djdk.net.hosts.file={folder}/hosts",
    ]
    return [
        *JAVA,
        *options,
        "-cp",
        os.pathsep.join(jars),
        "org.apache.zookeeper.ZooKeeperMain",
        "-server",
        connect,
    ]


def our_command(release: str, connect: str) -> list[str]:
    return [*python_command("kafka_edu", "zookeeper-shell"), "--release", release, connect]


def tell(command: Sequence[str], lines: str, words: str = "") -> Said:
    """Give `lines` or one command (`words`) to a shell. Returns its output in comparable form."""
    environment = {**python_environment(), "TZ": "UTC"}
    done = subprocess.run(
        [*command, *words.split()],
        input=lines and lines + "\n",
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env=environment,
    )
    said = _WATCHER.sub("", done.stdout)
    watches = sorted(_EVENT.findall(said) + _SYNC.findall(said))
    return Said(
        done.returncode,
        _comparable(_SYNC.sub("", _EVENT.sub("", said))),
        _comparable(done.stderr),
        watches,
    )


def _comparable(text: str) -> str:
    """Remove the dates, replace zxids and sessions by the order of their first appearance, and sort
    the children, because 3.4 prints them in the order of the server's hash table.
    """
    text = _TRACE.sub("", _NOT_OURS.sub("", _DATE.sub("DATE", text)))
    text = re.sub(r"^Connecting to .*", "Connecting", text)
    zxids: dict[str, str] = {"0x0": "zxid-0"}
    text = _ZXID.sub(lambda found: zxids.setdefault(found[0], f"zxid-{len(zxids)}"), text)
    sessions: dict[str, str] = {}
    text = _SESSION.sub(
        lambda found: sessions.setdefault(found[0], f"session-{len(sessions)}"), text
    )
    text = _USAGE.sub(
        lambda found: found[1] + "\n".join(sorted(found[2].splitlines())) + "\n", text
    )
    return _LIST.sub(lambda found: f"[{', '.join(sorted(found[1].split(', ')))}]", text)


def golden() -> dict[str, Said]:
    """Return the recorded output of ZooKeeper's shells. The key is the release, or the release and
    the words of one command.
    """
    recorded = json.loads((GOLDEN / "zookeeper-shell.json").read_text(encoding="utf-8"))
    return {name: Said(*said) for name, said in recorded.items()}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = ApacheZooKeeper(folder / "zookeeper")
        server.start()
        try:
            commands = {
                release: shell_command(release, server.connect_string, folder)
                for release in STORIES
            }
            said = {release: tell(commands[release], lines) for release, lines in STORIES.items()}
            said |= {
                f"{release} {words}": tell(commands[release], "", words)
                for release, words in ONE_SHOT
            }
        finally:
            server.kill()
    (GOLDEN / "zookeeper-shell.json").write_text(
        json.dumps(said, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
