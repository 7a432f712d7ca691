"""Exercise 12-5: find and mend an accumulator whose batch waits for ever."""
