"""Importing this module fills the registry with every event there is: for readers. A broker imports
only the areas that it emits.
"""

import importlib
import pkgutil

import kafka_edu.trace.events as _events

for _module in pkgutil.iter_modules(_events.__path__):
    if _module.name != "all":
        importlib.import_module(f"{_events.__name__}.{_module.name}")
