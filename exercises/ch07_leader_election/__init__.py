"""The exercises of chapter 07: leader election."""
