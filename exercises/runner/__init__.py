"""What runs the exercises: manifest, workplace and progress, the checks and their parts."""
