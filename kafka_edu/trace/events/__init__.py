"""All events, in one module for each area. Importing a module registers its events in
`EVENT_TYPES`.
"""
