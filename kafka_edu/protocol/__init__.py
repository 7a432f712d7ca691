"""The wire protocol: every message declared once, codecs generated from the declarations (spec
P1–P5).
"""
