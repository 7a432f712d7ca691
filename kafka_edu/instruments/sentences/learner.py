"""The events of learners' code as sentences."""

from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.trace.events import learner


@sentence.register
def learner_installed(e: learner.LearnerInstalled) -> Sentence:
    return Sentence("runs learner's code", after=f"{e.exercise}: {e.replaces}")


@sentence.register
def learner_failed(e: learner.LearnerFailed) -> Sentence:
    return Sentence("✕ learner's code failed", after=f"{e.exercise}: {e.message}")
