"""Comparing two texts: shared n-grams, edits, transport and greedy matching of vectors."""
