"""The lines of exercise 16-1. Their answers are known, because each line is built from its
fields.
"""

from random import Random

from exercises.ch16_spark.log_lines import NAMES, Parts, cut, random_line, spoilt
from kafka_edu.clients.web_log.access_log import AccessLine, parse


def test_the_pipelines_own_parser_agrees() -> None:
    """The pipeline's parser keeps quoted text as it is and gives other reasons for bad lines. So
    the test compares only whether a line is good, and the fields with the same meaning.
    """
    random = Random(5)
    good = bad = 0
    for _ in range(3_000):
        line = random_line(random)
        found = parse(line.text.encode("latin-1"))
        assert isinstance(found, AccessLine) == (line.answer[0] == "ok"), line.text
        if isinstance(found, AccessLine):
            good += 1
            numbers = found.time_s, found.method, found.path, found.status, found.size
            assert (found.client, *numbers) == line.answer[1:7]
        else:
            bad += 1
    assert min(good, bad) > 500


def test_a_drawing_marks_the_field() -> None:
    line = Parts().line()
    assert line.drawn() == (f"    {line.text}",)
    text, marks, says = spoilt(line, "status", "600", "too high").drawn()
    assert text[marks.index("^") : marks.rindex("^") + 1] == "600"
    assert says == "    status: too high"
    text, marks, _ = cut(line, NAMES.index("size")).drawn()
    assert marks.index("^") == len(text) + 1
    long = spoilt(Parts(path="/" + "a" * 200).line(), "duration", "xyz", "no number")
    text, marks, _ = long.drawn()
    assert text.endswith("xyz")
    assert max(map(len, long.drawn())) < 80
