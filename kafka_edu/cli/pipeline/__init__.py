"""`kafka-edu spark pipeline`: the command, the view while it runs, and the report at the end."""
