"""Training: the embedded encoder and language model, and the trained metrics (extra `train`)."""
