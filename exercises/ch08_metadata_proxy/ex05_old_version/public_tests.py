"""Public tests of exercise 08-5. `kafka-edu lab check 08-5` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random

from kafka_edu.learner.learner import Learner, LearnerObject
from kafka_edu.learner.learner_metadata_layout import PARTS, names_of, right_fields

from ...runner.diagnosis import two_numbers
from ...runner.mismatch import Mismatch, Words
from ..layout_rules import VERSIONS, encoded, read_by_a_client, response, right_body
from .material import Answer, answers, wrong

WANTED = "(number of the answer, position of the byte)"


def refused(came: tuple[int, int], why: str) -> Mismatch:
    """Return a Mismatch that refuses the learner's diagnosis."""
    return Mismatch("diagnosis()", Words(WANTED), came, why, read="answers.txt")


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the answer that is read wrongly, and the position of the byte"""
    number, position = came = two_numbers(learner, WANTED, ())
    sent = answers(material)
    expected, flag = wrong(material)
    if number not in range(1, len(sent) + 1):
        raise refused(came, f"answers.txt has the answers 1 to {len(sent)}")
    if number != expected:
        version = sent[number - 1].version
        raise refused(came, f"answer {number} has all fields of version {version}")
    if position != flag:
        raise refused(came, _why_not(sent[number - 1], position))


def _why_not(answer: Answer, position: int) -> str:
    if not 0 <= position < len(answer.sent):
        return f"the answer has the bytes 0 to {len(answer.sent) - 1}"
    if position < answer.flag:
        return f"the field to which byte {position} belongs is there, and the client reads it"
    return f"before byte {position} the client has gone wrong already"


def ask(made: LearnerObject, part: str, version: int) -> tuple[str, ...]:
    """Call `fields` for one part of an answer, and return the right fields. Raises Mismatch if the
    learner's fields are wrong.
    """
    expected = right_fields(part, version)
    came = made.call("fields", part, version)
    if came == expected:
        return expected
    if not isinstance(came, tuple):
        why = "it is a list of names"
    else:
        unknown = [one for one in came if one not in names_of(part)]
        missing = [one for one in expected if one not in came]
        more = [one for one in came if one not in expected]
        if unknown:
            why = f"a {part} has no field {unknown[0]}"
        elif missing:
            why = f"a client of version {version} reads {missing[0]} too"
        elif more:
            why = f"a client of version {version} does not know {more[0]}"
        else:
            why = "clients read the fields in one order, each once"
    raise Mismatch(f"fields({part!r}, {version})", expected, came, why, read="fields")


def test_oldest_and_newest(learner: Learner) -> None:
    """all parts of an answer, in version 0 and in version 8"""
    made = learner.make()
    for version in (0, 8):
        for part in PARTS:
            ask(made, part, version)


def test_all_versions(learner: Learner) -> None:
    """each part of an answer, in each version"""
    made = learner.make()
    for part in PARTS:
        for version in VERSIONS:
            ask(made, part, version)


def test_clients_read_it(learner: Learner, seed: int) -> None:
    """sixty random answers, each read by a client of its version"""
    random = Random(f"read/{seed}")
    made = learner.make()
    for _ in range(60):
        read_one(made, random, random.choice(VERSIONS))


def read_one(
    made: LearnerObject, random: Random, version: int, brokers: int = 2, topics: int = 2
) -> None:
    """Write a random answer with the learner's fields, and read it as a client. Raises Mismatch."""
    answer = response(random, brokers, topics)
    right = right_body(answer, version)

    def fields(part: str, of: int) -> object:
        came = made.call("fields", part, of)
        names = names_of(part)
        known = isinstance(came, tuple) and all(one in names for one in came)
        return came if known else ask(made, part, of)

    body = encoded(answer, version, fields)
    if body != right:
        raise Mismatch(
            f"an answer of version {version}",
            Words(read_by_a_client(right, version)),
            Words(read_by_a_client(body, version)),
            "a client reads the fields of its version, one behind the other",
        )
