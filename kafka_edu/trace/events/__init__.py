"""All events, one module an area. Importing this package fills `EVENT_TYPES`."""
