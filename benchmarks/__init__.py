"""Speed, measured beside a reference in the same run: ``nnuelab bench NAME`` runs ``NAME.py``.

A benchmark is a module with a function ``rows``, which yields rows of `harness`. Keep the package
out of here: what it doesn't need to work stands in this folder.
"""
