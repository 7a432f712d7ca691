"""The presenter: it leads a learner through a script of steps (docs/presenter.md)."""
