"""The presenter: `kafka-edu present FILE.toml` (docs/presenter.md)."""
