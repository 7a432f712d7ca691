"""The presenter, which plays scripts: `kafka-edu present FILE.toml` (docs/presenter.md)."""
