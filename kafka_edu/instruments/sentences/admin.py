"""Sentences for the events of our own admin client."""

from kafka_edu.common.words import plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import quiet
from kafka_edu.trace.events import admin


@sentence.register
def admin_call_started(e: admin.AdminCallStarted) -> Sentence:
    return quiet(
        f"{e.client}: calls",
        f"{e.call} for {plural(e.items, 'item')}",
        because="the program asked for it",
    )


@sentence.register
def admin_item_retried(e: admin.AdminItemRetried) -> Sentence:
    return quiet(
        f"{e.client}: {e.call}",
        f"sends {e.item} again, new try {e.tries}",
        reason=e.error,
        because="the error may pass",
    )


@sentence.register
def admin_call_ended(e: admin.AdminCallEnded) -> Sentence:
    return quiet(
        f"{e.client}: {e.call} has ended:",
        f"{plural(e.succeeded, 'result')}, {plural(e.failed, 'error')}",
        because="each item has its result or its error",
    )
