"""The teacher's side of the lab: grade a class, export the course, and rehearse the grading."""
