"""The one kind of error that a user sees as a single line instead of a traceback."""


class UserError(Exception):
    """Bad input or a missing piece: the message says what is wrong, where, and what to do.

    The command line prints it as ``nnuelab: error: MESSAGE`` on stderr and exits with status 1.
    """


def one_line(error: object) -> str:
    """What an error of others says, in one line."""
    return " ".join(str(error).split())
