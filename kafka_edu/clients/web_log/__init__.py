"""A web log whose answers are known: the lines of demos, labs and the Spark pipeline."""
