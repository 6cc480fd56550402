"""Running metrics over a corpus: in chunks, on this machine."""
