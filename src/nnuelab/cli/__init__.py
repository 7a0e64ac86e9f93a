"""The command line: one thin command per stage, importing what it needs when it is called."""
