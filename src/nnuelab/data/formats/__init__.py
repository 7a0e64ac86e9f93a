"""Codecs of position files: arrays of RECORD from and to the bytes of each format.

A module has ``read(path, unusable)``, which yields arrays of RECORD and counts unusable entries,
and ``write(file, batches, left_out)``, which writes such arrays to an open binary file and counts
the positions that the format can't hold. Neither holds more than a batch or two in memory. Formats
whose files can be shards of a dataset have ``blocks(path, positions, unusable)``, which yields for
each block its place in the file, its bytes and their records, and ``decode(content, positions)``,
which gives the records of a block again. `conversion` knows which suffix is which.
"""
