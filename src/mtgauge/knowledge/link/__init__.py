"""From a text to the entities that it mentions."""
