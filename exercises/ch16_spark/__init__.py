"""The exercises of chapter 16: a Spark pipeline that processes the lines of a web log."""
