"""Self-play: games of an engine against itself, and labels and filters by search.

Random openings (`openings`), games by this engine or another (`datagen`), labels by this engine
(`labels`), the filter for quiet positions (`quiet`). May import all rooms below.
"""
