"""`kafka-edu draw`: pictures of a cluster or of a recording, from the dashboard's own views."""
