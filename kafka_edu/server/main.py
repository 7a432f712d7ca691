"""A broker in its own process: `python -m kafka_edu.server.main server.properties [--override
key=value …]` (Kafka: Kafka.scala).

SIGTERM and SIGINT stop the broker gracefully. A second signal has no effect. Only kill -9 ends it
at once. Log lines go to standard error. The exit code is 0 after a graceful stop. It is 1 if the
broker could not start, or if a part failed.
"""

import argparse
import asyncio
import gc
import logging
import sys
from typing import Final

from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.heap import keep_large_blocks_apart
from kafka_edu.server.config.kafka_config import ConfigFileError, load_config

log = logging.getLogger("kafka_edu.server")


SWITCH_INTERVAL_S: Final = 0.001
"""How long a thread may keep the interpreter's lock while other threads wait, in seconds.
ZooKeeper's thread needs this lock for each response and for the heartbeats of its session.
"""


def main(arguments: list[str] | None = None) -> int:
    """Parse the arguments, load the configuration, and install the learner's code. Then import and
    run the broker. Return the exit code.
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
    )  # only now, because a learner's code may replace a module that this one imports

    gc.freeze()  # The loop's first search for garbage leaves out the imports: 38 ms of one turn.
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(BrokerProcess(config, learner).run())
    finally:
        for code in learner:
            code.close()


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a loop of uvloop if uvloop is installed, otherwise asyncio's loop. uvloop is a faster
    event loop in C. No code depends on which one is used.
    """
    try:
        import uvloop
    except ImportError:  # Windows
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


if __name__ == "__main__":
    sys.exit(main())
