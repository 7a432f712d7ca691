"""Record the answers of Apache Kafka: python -m tests.conformance.record [NAME …] (see
tests/conformance/recordings/README.md).

This needs Java and Apache Kafka's jars, which Maven fetches the first time. Without names, every
module of cases is recorded.
"""

import sys

from tests.conformance.broker_processes import apache_broker
from tests.conformance.brokers import ListeningBroker
from tests.conformance.cases import MODULES, load
from tests.conformance.replay import Asker, write_steps


def main(names: list[str]) -> None:
    for name in names or MODULES:
        cases = load(name)
        with apache_broker(cases) as port:
            asker = Asker(ListeningBroker("127.0.0.1", port))
            cases.ask_all(asker)
        write_steps(name, asker.steps)
        print(f"{name}: {len(asker.steps)} steps")


if __name__ == "__main__":
    main(sys.argv[1:])
