"""`kafka-edu spark pipeline`: the command, its view while it runs, and its report."""
