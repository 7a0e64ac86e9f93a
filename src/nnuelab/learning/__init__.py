"""What any training needs: nets now, other heads on the same features later.

Bottom up: :mod:`simd`, :mod:`dense` and :mod:`sparse`, kernels of dense layers and of batches of
active features; :mod:`parallel`, threads, devices and processes; :mod:`first_layer`, the sparse
layer and the dense one behind it; :mod:`linear`, the dense ones behind these;
:mod:`optimizers` and :mod:`schedules`; :mod:`loader`, batches out of datasets; :mod:`memory`, how
much of it that takes; :mod:`checkpoint`, the file of a run. May import data, features and chess.
"""
