"""The engine of the exercises: manifest, workplace and progress, the checks and their parts."""
