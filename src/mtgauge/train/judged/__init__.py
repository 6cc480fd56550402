"""Judged segments as training material."""
