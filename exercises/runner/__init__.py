"""What runs the exercises: manifest, workplace, public_tests, live_check."""
