"""The demo of chapter 07, leader election."""
