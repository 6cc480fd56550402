"""Training of metrics on human judgements."""
