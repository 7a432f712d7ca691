"""Describe events in sentences, for the ticker, for chains of causes and for printed lines.

A sentence begins with a verb. The process that emitted the event is in front of it as the
subject: `b1  leads web-0 from offset 12 on, epoch 3`.

Importing this package registers the sentences of all areas.
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
