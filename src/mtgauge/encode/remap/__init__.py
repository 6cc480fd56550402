"""Remapped vector spaces (CLP, UMD) and the word pairs they are fitted on."""
