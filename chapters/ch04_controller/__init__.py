"""The demos of chapter 04, the controller."""
