"""All events, in one module for each area. Each module registers its events in `EVENT_TYPES`."""
