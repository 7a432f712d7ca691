"""The presenter: a script of steps, and the state of a presentation (docs/presenter.md)."""
