"""Policies: nets that choose moves by the squares they go from and to, and how they learn it.

A policy sees a position as the player to move does: Black's board is turned over. `policyfile`,
`inference` and `choice` need no torch; `network` and what trains needs it.
"""
