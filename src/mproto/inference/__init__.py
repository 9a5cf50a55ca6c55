"""From words that are tagged to entities that somebody asked for. Knows no network either, only what one has to say."""
