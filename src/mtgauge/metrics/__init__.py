"""The metrics, one readable file each; `mtgauge.registry` finds them by name."""
