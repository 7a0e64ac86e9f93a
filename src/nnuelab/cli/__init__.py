"""The command line: one thin command per stage, which imports late."""
