"""Games between players, and what they say about strength.

Openings (`openings`), who plays (`players`; of each kind: `nets`, `external`) whom (`schedule`) for
how long (`limits`), what a game is made of (`game`) and how it is played (`play`), its adjudication
(`adjudication`) and PGN (`pgn`), the tournament over all cores that survives a kill (`runner`,
`workers`) and what it came to (`summary`), results out of PGN headers (`headers`), Ordo's rating
model with its errors (`ratings`, `model`, `ordo`), and the sequential test (`sprt`). `ablation`
measures what a term of the search is worth.

May import engine and everything below it; never torch.
"""
