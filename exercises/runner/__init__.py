"""What runs the exercises: manifest, workplace, learner (a process for the learner's code), public_tests, live_check."""
