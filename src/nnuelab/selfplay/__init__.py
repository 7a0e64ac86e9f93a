"""Games that an engine plays against itself, and the opening book. May import all rooms below."""
