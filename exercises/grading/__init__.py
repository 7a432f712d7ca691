"""The teacher's side of the lab: grade a class, export the course, rehearse with made-up work."""
