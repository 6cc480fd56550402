"""Training loops: seeds, schedule, checkpoints, validation."""
