"""Games that an engine plays against itself, and what they are good for.

Random openings (`openings`), games by this engine or another (`datagen`), labels by this engine
(`labels`), the filter for quiet positions (`quiet`). May import all rooms below.
"""
