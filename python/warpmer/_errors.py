"""The errors that warpmer raises: four kinds, all of them derived from Error; and what it warns by."""


class Error(Exception):
    """What all of warpmer's errors have in common: one clear sentence."""


class UsageError(Error, ValueError):
    """The request cannot be right: k out of range, a k-mer of another length, an output that is also an input."""


class InputError(Error):
    """A file is missing, damaged, or something else than it should be."""


class ResourceError(Error):
    """Memory, disk or device do not suffice, or are missing."""


class InternalError(Error):
    """A bug in warpmer."""


class JobWarning(UserWarning):
    """A job goes well, but there is something that the user should know: an input without k-mers, a file named twice."""


for _kind in (Error, UsageError, InputError, ResourceError, InternalError, JobWarning):
    _kind.__module__ = "warpmer"
