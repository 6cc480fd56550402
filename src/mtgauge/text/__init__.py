"""Words, n-grams and languages of a text."""
