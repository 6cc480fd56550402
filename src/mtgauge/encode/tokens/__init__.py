"""Token encoders: texts in, ragged token vectors out."""
