"""Files in, checked segments out: nothing reaches a metric that did not pass `checks`."""
