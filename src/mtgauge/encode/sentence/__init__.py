"""Sentence encoders: one vector per text."""
