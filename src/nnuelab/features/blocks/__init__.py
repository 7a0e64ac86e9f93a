"""The blocks that ship with the package, one short file each; a user's own look the same."""
