"""Games between players, and what they say about strength.

Openings (`openings`), one game (`game`), its adjudication (`adjudication`) and PGN (`pgn`), the
round robin over all cores that survives a kill (`runner`, `journal`), results out of PGN headers
(`headers`), and Ordo's rating model with its errors (`ratings`, `model`, `ordo`). `ablation`
measures what a term of the search is worth.

May import engine and everything below it; never torch.
"""
