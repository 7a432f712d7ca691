"""The Kafka wire protocol (spec P1–P5).

Each message is declared once. Its decoders and encoders are generated from this declaration.
"""
