"""Sentences for the events of code that learners write."""

from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.trace.events import learner


@sentence.register
def learner_installed(e: learner.LearnerInstalled) -> Sentence:
    return Sentence("runs learner's code", after=f"{e.exercise}: {e.replaces}")


@sentence.register
def learner_answered(e: learner.LearnerAnswered) -> Sentence:
    line = f" (line {e.line}: {e.source})" * bool(e.line)
    return Sentence(f"{e.exercise} is asked:", after=f"{e.call} → {e.answer}{line}")


@sentence.register
def learner_printed(e: learner.LearnerPrinted) -> Sentence:
    return Sentence(f"{e.exercise} prints:", after=e.text)


@sentence.register
def learner_failed(e: learner.LearnerFailed) -> Sentence:
    return Sentence("✕ learner's code failed", after=f"{e.exercise}: {e.message}")


@sentence.register
def learner_retired(e: learner.LearnerRetired) -> Sentence:
    times = f"{e.failures} failures"
    return Sentence("✕ only our code is used from now on:", after=f"{e.exercise} had {times}")


@sentence.register
def learner_served(e: learner.LearnerServed) -> Sentence:
    served = f"{e.exercise} was called {e.total.calls:,} times"
    return Sentence("learner's code has been used:", after=served)


@sentence.register
def order_stepped(e: learner.OrderStepped) -> Sentence:
    who = f"{e.who}: " * bool(e.who)
    line = f" (line {e.line})" * bool(e.line)
    return Sentence(f"step {e.number} of {e.steps}:", after=f"{who}{e.step}{line}")


@sentence.register
def order_failed(e: learner.OrderFailed) -> Sentence:
    return Sentence("✕ the rule is wrong:", after=f"{e.fault} ({e.file})")
