"""How far a metric may be trusted: its agreement with human judgements."""
