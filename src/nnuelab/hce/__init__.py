"""Hand-crafted evaluations: terms on feature sets, played by the engine and tuned on results.

A term is a feature set that both players see, with a middlegame and an endgame weight for each of
its features or for groups of them. So a new term is a new feature block, and everything that reads
blocks (extraction, incremental updates, checks, pictures) serves it.

From the ground up: an evaluation and its file (:mod:`evaluation`), for the search
(:mod:`evaluator`), positions as counts of terms (:mod:`trace`), the error of weights on them
(:mod:`error`), and what lowers it (:mod:`optimizers`).
"""
