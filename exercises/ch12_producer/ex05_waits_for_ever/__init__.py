"""Exercise 12-5: find and fix an accumulator whose batch waits for ever."""
