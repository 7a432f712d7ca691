"""The seed of the hashes in a learner's process: one seed always gives a set the same order."""

from pathlib import Path

from kafka_edu.learner.learner import Learner

SOURCE = "import sys\ndef order():\n    return [*{f'broker-{n}' for n in range(20)}], sys.path\n"


def order(learner: Learner, hash_seed: int) -> object:
    other = learner.with_hash_seed(hash_seed)
    try:
        return other.run()
    finally:
        other.close()


def test_a_set_of_texts_has_one_order_for_each_seed(tmp_path: Path) -> None:
    file = tmp_path / "order.py"
    file.write_text(SOURCE, encoding="utf-8")
    learner = Learner(file, "order")
    found = [order(learner, seed) for seed in (1, 2, 1, 2)]
    assert found[:2] == found[2:]
    assert found[0] != found[1]


def test_the_process_is_as_isolated_as_without_a_seed(tmp_path: Path) -> None:
    file = tmp_path / "order.py"
    file.write_text(SOURCE, encoding="utf-8")
    learner = Learner(file, "order")
    try:
        (_, isolated), (_, seeded) = learner.run(), order(learner, 1)  # type: ignore[misc,has-type]
    finally:
        learner.close()
    assert isolated == seeded
