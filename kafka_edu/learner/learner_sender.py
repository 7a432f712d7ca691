"""Exercise 12-3 in a live producer: a learner's InFlight decides which batch may be sent when, and
what happens to a batch that a broker refused.

The shipped sender keeps the queues, the connections and their limit. It calls the learner's code
for the first batch of each queue, and after each answer of a broker. A wrong answer is used: a
batch then waits too long or fails. With idempotence, a batch is sent only if the shipped rules
allow it too, because these rules know the sequence numbers. It is an error in the learner's code if
an answer says that a refused batch is stored, or that a stored batch was refused. The shipped rules
then take over.

A batch that a broker refuses as too large is divided, and acks=0 has no answers. In both cases only
the shipped rules are used.
"""

from collections.abc import Callable
from functools import partial

from kafka_edu.clients.client_connections import ClientConnections
from kafka_edu.clients.metadata import Metadata
from kafka_edu.clients.producer.producer_batch import ProducerBatch
from kafka_edu.clients.producer.producer_config import ProducerConfig
from kafka_edu.clients.producer.record_accumulator import RecordAccumulator
from kafka_edu.clients.producer.sender import Sender
from kafka_edu.clients.producer.transaction_manager import TransactionManager
from kafka_edu.clients.producer.transactions import Transactions
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.protocol.messages.produce import ProduceResponse
from kafka_edu.protocol.schema import Message
from kafka_edu.trace.tracer import Tracer

_STORED = (Errors.NONE, Errors.DUPLICATE_SEQUENCE_NUMBER)


class LearnerSender(Sender):
    """A sender that asks an object of the learner's class. Each producer has one such object."""

    def __init__(
        self,
        code: LearnerCode,
        config: ProducerConfig,
        metadata: Metadata,
        accumulator: RecordAccumulator,
        connections: ClientConnections,
        transaction_manager: TransactionManager | None,
        transactions: Transactions | None,
        trace: Tracer | None = None,
    ) -> None:
        super().__init__(
            config, metadata, accumulator, connections, transaction_manager, transactions, trace
        )
        self._code = code
        self._part = LearnerPart(code, config.max_in_flight, config.idempotent, config.retries)
        self._mutes = self._guarantee_order
        """Whether the shipped rules mute partitions."""
        self._given_up = config.acks == 0
        self._guarantee_order = self._mutes and self._given_up
        self._brokers: dict[ProducerBatch, int] = {}
        """The broker of each batch in flight."""
        self._held: dict[TopicPartition, ProducerBatch] = {}
        """Partition → its batch that the learner's code has held back."""
        self._verdicts: dict[ProducerBatch, object] = {}
        """Batch in the answer that is handled now → the learner's verdict about this batch."""

    def _in_order(self, batch: ProducerBatch) -> bool:
        """Return the learner's last answer about a batch: whether the batch may be sent.

        This method does not call the learner's code, because samples of the producer's state call
        the method often.
        """
        held = not self._given_up and self._held.get(batch.tp) is batch
        return super()._in_order(batch) and not held

    def _may_drain(self, batch: ProducerBatch) -> bool:
        self._held.pop(batch.tp, None)
        ours = super()._in_order(batch)
        if self._given_up or not ours:
            return ours
        arguments = (self._leader(batch)[0], str(batch.tp), batch.number)
        try:
            answer = self._part.ask("may_send", *arguments)
            if not isinstance(answer, bool):
                raise self._part.blame("may_send", arguments, answer, "True or False")
        except LearnerError as error:
            self._fail_learner(error)
            return super()._in_order(batch)
        if not answer:
            self._held[batch.tp] = batch
        return answer

    def _send(self, node: int, batches: list[ProducerBatch], now: float) -> None:
        super()._send(node, batches, now)
        flying = [batch for batch in batches if batch in self._in_flight]
        for batch in flying:
            self._brokers[batch] = node
        if flying:  # else the broker is too old, and nothing was sent
            self._tell("sent", node, [[str(batch.tp), batch.number] for batch in flying])

    def _on_response(
        self, sent: dict[ProducerBatch, tuple[int, int]], answer: Message | None, now: float
    ) -> None:
        errors = dict.fromkeys(sent, Errors.NETWORK_EXCEPTION)
        if isinstance(answer, ProduceResponse):
            found = {
                (topic.name, each.index): Errors.of(each.error_code)
                for topic in answer.responses
                for each in topic.partition_responses
            }
            errors = {batch: found.get(batch.tp, errors[batch]) for batch in sent}
        brokers = [self._brokers.pop(batch) for batch in sent]
        if any(
            error is Errors.MESSAGE_TOO_LARGE and batch.count > 1 for batch, error in errors.items()
        ):
            self._use_ours()
        self._judge(brokers[0], errors)
        try:
            super()._on_response(sent, answer, now)
        finally:
            self._verdicts.clear()

    def _judge(self, broker: int, errors: dict[ProducerBatch, Errors]) -> None:
        """Let the learner's code decide about each batch of a request that the broker has
        answered.
        """
        if self._given_up:
            return
        rows = [
            [str(batch.tp), batch.number, error.name, error.retriable]
            for batch, error in errors.items()
        ]
        try:
            answer = self._part.ask("answered", broker, rows)
            if not isinstance(answer, list | tuple) or len(answer) != len(rows):
                raise self._part.blame(
                    "answered", (broker, rows), answer, "one word for each batch"
                )
            for (batch, error), word in zip(errors.items(), answer, strict=True):
                fits = ("done",) if error in _STORED else ("again", "failed")
                if not batch.done and word not in fits:
                    raise self._part.blame("answered", (broker, rows), answer, " or ".join(fits))
                self._verdicts[batch] = word
        except LearnerError as failure:
            self._verdicts.clear()
            self._fail_learner(failure)

    def _may_retry(self, batch: ProducerBatch, error: Errors, log_start_offset: int) -> bool:
        ours = super()._may_retry(batch, error, log_start_offset)
        verdict = self._verdicts.get(batch)
        return ours if verdict is None else verdict == "again"

    def _fail(
        self, batch: ProducerBatch, error: KafkaException, *, exhausted: bool, now: float
    ) -> None:
        if self._verdicts.get(batch) != "failed":  # the learner does not know it yet
            self._tell("expired", str(batch.tp), batch.number)
        super()._fail(batch, error, exhausted=exhausted, now=now)

    def _tell(self, method: str, *arguments: object) -> None:
        """Call a method of the learner's object that returns no answer."""
        if self._given_up:
            return
        try:
            self._part.ask(method, *arguments)
        except LearnerError as error:
            self._fail_learner(error)

    def _fail_learner(self, error: LearnerError) -> None:
        self._use_ours()
        self._code.failed(error)

    def _use_ours(self) -> None:
        """Use only the shipped rules from now on. If these rules must keep the order of batches,
        mute each partition that has a batch in flight.
        """
        self._given_up = True
        self._guarantee_order = self._mutes
        if self._mutes:
            for batch in self._in_flight:
                self._accumulator.mute(batch.tp, True)


def adapt(code: LearnerCode) -> Callable[..., Sender]:
    """Return the function that replaces `Sender` where a producer is built."""
    return partial(LearnerSender, code)
