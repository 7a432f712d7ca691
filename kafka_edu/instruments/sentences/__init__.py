"""Events as sentences: in the ticker, in chains of causes and in printed lines.

A sentence begins with a verb, because the reader sees its subject, the process that emitted the
event, in front of it: `b1  leads web-0 from offset 12 on, epoch 3`.

Importing this package fills the table with the sentences of all areas.
"""

import importlib
import pkgutil

from kafka_edu.instruments.sentences.table import fact_text as fact_text
from kafka_edu.instruments.sentences.table import sentence as sentence
from kafka_edu.instruments.sentences.words import SHORT_NAMES as SHORT_NAMES
from kafka_edu.instruments.sentences.words import member_name as member_name
from kafka_edu.instruments.sentences.words import teller as teller

for _area in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_area.name}")
