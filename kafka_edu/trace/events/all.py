"""Import all modules with events, so that the registry knows every event. Programs that read events
import this module. A broker imports only the modules whose events it emits.
"""

import importlib
import pkgutil

import kafka_edu.trace.events as _events

for _module in pkgutil.iter_modules(_events.__path__):
    if _module.name != "all":
        importlib.import_module(f"{_events.__name__}.{_module.name}")
