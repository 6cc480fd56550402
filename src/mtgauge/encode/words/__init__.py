"""Static word vectors: stores, files of other programs, look-up."""
