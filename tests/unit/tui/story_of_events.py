"""Hand-made events from one process and one clock, for tests of reducers."""

from collections import defaultdict

from kafka_edu.trace.event import EVENT_TYPES, Envelope, Event, Kind, Source
from kafka_edu.trace.events import all as _all  # noqa: F401 - fills the registry


class Story:
    """Numbers facts as brokers do. Times are ms."""

    def __init__(self) -> None:
        self.now_ms = 1_000
        self._seq: dict[Source, int] = defaultdict(int)
        self.envelopes: list[Envelope] = []

    def tell(
        self,
        teller: Source | int,
        event: Event,
        after_ms: int = 0,
        cause: Envelope | None = None,
    ) -> Envelope:
        source = Source.of_broker(teller) if isinstance(teller, int) else teller
        self.now_ms += after_ms
        known = EVENT_TYPES.get(type(event).__name__)
        if known is not None and known.kind is Kind.FACT:
            self._seq[source] += 1
        envelope = Envelope(
            source,
            self._seq[source],
            cause.seq if cause else 0,
            1_700_000_000_000 + self.now_ms,
            self.now_ms * 1000,
            event,
        )
        self.envelopes.append(envelope)
        return envelope
