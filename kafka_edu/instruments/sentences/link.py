"""Sentences for the dashboard's own events: to which processes it is connected."""

from kafka_edu.instruments.link_events import ClusterKnown, LinkLost, LinkMade
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence


@sentence.register
def link_made(e: LinkMade) -> Sentence:
    return Sentence("sends its events", after=f"(process {e.pid})", loud=False)


@sentence.register
def link_lost(e: LinkLost) -> Sentence:
    return Sentence("sends no more events", because="its socket closed", loud=False)


@sentence.register
def cluster_known(e: ClusterKnown) -> Sentence:
    return Sentence("reports its cluster:", after=e.name, loud=False)
