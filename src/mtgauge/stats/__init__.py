"""From statistics rows to confidence: intervals, paired tests, clusters of systems."""
