"""Training of the embedded encoder and language model."""
