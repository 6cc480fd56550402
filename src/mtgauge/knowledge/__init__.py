"""Entities that a text mentions: the knowledge base, the linker, numbers and names."""
