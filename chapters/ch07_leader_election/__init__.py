"""Chapter 07, leader election: its demo."""
