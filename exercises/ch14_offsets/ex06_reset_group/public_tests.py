"""Public tests of exercise 14-6: they grade the learner's report. `kafka-edu lab check 14-6` runs
them, and then examines the cluster and the billing program.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...lab_facts import said
from ...runner.mismatch import Mismatch, Words
from .material import PARTITIONS, TOPIC, plan


@pytest.mark.parametrize("partition", range(PARTITIONS))
def test_begin(learner: Learner, material: int, partition: int) -> None:
    """the report says at which offset the group has to begin"""
    truth = plan(material)
    name = f"{TOPIC}-{partition}"
    came = said(learner, name)
    right = truth.begins[partition]
    if came == right and not isinstance(came, bool):
        return
    stamps = truth.timestamps[partition]
    if not isinstance(came, int) or isinstance(came, bool):
        why = "the answer is a number"
    elif partition == truth.closed:
        why = "no order of this partition is as new as the price list: the end of the log is asked"
    elif came in range(len(stamps)) and stamps[came] < truth.time_ms and came > right:
        why = f"order {came} is of the phone with the late clock, and others before it are newer"
    elif came in range(len(stamps)) and came > right:
        why = f"order {came} is of after the price list, and it is not the first one"
    elif came in range(len(stamps)):
        why = f"order {came} is of before the price list"
    else:
        why = f"order {came} was not there when the trouble began"
    raise Mismatch("report()", Words(f"the offset of the first order in {name}"), came, why)
