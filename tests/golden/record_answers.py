"""Records what Apache Kafka answers: python -m tests.golden.record_answers [NAME …] (see
tests/golden/answers/README.md).

Needs Java, and Apache Kafka's jars, which Maven fetches the first time. Without names it records
every module of questions.
"""

import sys

from tests.interop.answers import ListeningBroker
from tests.interop.peers import apache_broker
from tests.interop.questions import MODULES, load
from tests.interop.questions.asking import Asker, write_steps


def main(names: list[str]) -> None:
    for name in names or MODULES:
        questions = load(name)
        with apache_broker(questions) as port:
            asker = Asker(ListeningBroker("127.0.0.1", port))
            questions.ask_all(asker)
        write_steps(name, asker.steps)
        print(f"{name}: {len(asker.steps)} steps")


if __name__ == "__main__":
    main(sys.argv[1:])
