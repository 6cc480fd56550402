"""Trained weights to ONNX and back, and the folder they live in."""
