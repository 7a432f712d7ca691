"""The Kafka wire protocol (spec P1–P5).

Each message is declared once. A decoder and an encoder for each version are generated from this
declaration.
"""
