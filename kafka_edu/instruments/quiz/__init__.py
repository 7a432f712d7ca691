"""A quiz for a class: a chapter's predictions, answered by teams, and judged by the cluster."""
