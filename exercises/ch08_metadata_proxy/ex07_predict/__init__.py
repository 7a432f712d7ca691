"""Exercise 08-7: predict which broker or proxy receives certain bytes."""
