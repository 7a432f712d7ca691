"""A broker in its own process: `python -m kafka_edu.server.main server.properties [--override
key=value …]` (Kafka: Kafka.scala).

SIGTERM and SIGINT stop it gracefully. A second signal does not make it faster (kill -9 does). Log
lines go to standard error. The exit code is 0 after a graceful stop, 1 if it could not start or a
part failed.
"""

import argparse
import asyncio
import logging
import sys
from typing import Final

from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.heap import keep_large_blocks_apart
from kafka_edu.server.config.kafka_config import ConfigFileError, load_config

log = logging.getLogger("kafka_edu.server")


SWITCH_INTERVAL_S: Final = 0.001
"""How long a busy loop may keep the interpreter's lock. ZooKeeper's thread waits for this lock with
each response, and with the heartbeats of its session.
"""


def main(arguments: list[str] | None = None) -> int:
    """Parse the arguments, load the configuration, and install a learner's code. Only then import
    and run the broker.
    """
    parser = argparse.ArgumentParser(prog="kafka-server-start", description="Run one broker.")
    parser.add_argument("properties", help="a server.properties file")
    parser.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="takes precedence over the file",
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
    keep_large_blocks_apart()
    from kafka_edu.server.broker_process import (
        BrokerProcess,
    )  # only now, because no module that a learner's code replaces may be imported earlier

    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(BrokerProcess(config, learner).run())
    finally:
        for code in learner:
            code.close()


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's loop if uvloop is installed. It is asyncio's loop in C. No code depends on
    which one it is.
    """
    try:
        import uvloop
    except ImportError:  # Windows
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


if __name__ == "__main__":
    sys.exit(main())
