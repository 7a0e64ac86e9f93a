"""Games that an engine plays against itself, and what they are good for.

Random openings (`openings`), a book of them (`book`), games (`datagen`) by this
engine or another (`uci`), positions that are quiet (`quiet`). May import all rooms below.
"""
