"""Hidden tests of exercise 16-14s: only `kafka-edu lab grade 16-14s` runs them."""

from ...runner.spark_learner import SparkLearner
from ..page_views import Request
from .public_tests import Checked


def test_ends_of_lines(learner: SparkLearner) -> None:
    """a text with an end of line in it or at its end"""
    Checked(learner).agrees(
        *(Request(client=one) for one in ("1.2.3.4\n", "\n1.2.3.4", "1.2.3.4\n5.6.7.8")),
        *(Request(url=one) for one in ("/a/\n", "/a\n/", "/\n", "/a\n?b", "\n")),
        *(Request(agent=one) for one in ("x\nBot", "fire\nfox")),
    )


def test_other_scripts(learner: SparkLearner) -> None:
    """digits and letters that are not ASCII, and long texts"""
    Checked(learner).agrees(
        *(Request(client=one) for one in ("١.٢.٣.٤", "1．2．3．4", "01.002.3.4")),
        *(Request(url=one) for one in ("/路径//页/?q=ü", "/" * 900, "/a" * 400 + "/", "/$1/\\0/")),
        *(Request(agent=one) for one in ("ＢＯＴ", "SAFARİ", "x" * 900 + "Chrome")),
    )
