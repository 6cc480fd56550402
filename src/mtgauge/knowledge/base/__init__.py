"""The knowledge base: its store, its index, and how it is built."""
