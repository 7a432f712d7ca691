"""A broker in a process of its own: `python -m kafka_edu.server.main server.properties [--override
key=value …]` (Kafka: Kafka.scala).

SIGTERM and SIGINT stop it gracefully; a second one does not hurry it (kill -9 does). Log lines go
to standard error. Exit code 0 after a graceful stop, 1 if it could not start or a part failed.
"""

import argparse
import asyncio
import logging
import sys
from typing import Final

from kafka_edu.common.files import OsFileSystem
from kafka_edu.server.kafka_config import ConfigFileError, load_config

log = logging.getLogger("kafka_edu.server")


SWITCH_INTERVAL_S: Final = 0.001
"""How long a busy loop may keep the interpreter's lock from ZooKeeper's thread: each answer waits
for it, and a session's heartbeats do.
"""


def main(arguments: list[str] | None = None) -> int:
    """Parse, load the configuration, put a learner's code in place, and only then import and run
    the broker.
    """
    parser = argparse.ArgumentParser(prog="kafka-server-start", description="Run one broker.")
    parser.add_argument("properties", help="a server.properties file")
    parser.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="goes before what the file says",
    )
    options = parser.parse_args(arguments)
    logging.basicConfig(
        level=logging.INFO,
        format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)",
        stream=sys.stderr,
    )
    try:
        config, warnings = load_config(options.properties, OsFileSystem(), options.override)
    except ConfigFileError as error:
        print(f"the broker cannot start: {error}", file=sys.stderr)
        return 1
    for warning in warnings:
        log.warning("%s", warning)
    learner = []
    if config.learner is not None:
        from kafka_edu.learner.seams import LearnerError, install

        try:
            learner = install(config.learner)
        except (ValueError, LearnerError) as error:
            print(f"the broker cannot start: edu.learner: {error}", file=sys.stderr)
            return 1
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    from kafka_edu.server.broker_process import (
        BrokerProcess,
    )  # after the seams: nothing of theirs may be imported before

    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(BrokerProcess(config, learner).run())
    finally:
        for code in learner:
            code.close()


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's, where it is: asyncio's loop again, in C. Nothing here depends on which it is."""
    try:
        import uvloop
    except ImportError:  # Windows
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


if __name__ == "__main__":
    sys.exit(main())
