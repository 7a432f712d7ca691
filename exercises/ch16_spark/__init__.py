"""The exercises of chapter 16: what a pipeline on Spark does with the lines of a log."""
