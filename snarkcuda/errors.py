"""Every exception that a user of snarkcuda can meet, and the exit code that it becomes.

A message names the thing, the rule, the value, the file (with offset or index) and the next step:
"witness.wtns has 4 values but circuit.zkey expects 10: they come from different circuits".
A false proof is not an error: `verify` returns `False`.
"""


class SnarkcudaError(Exception):
    """Base of all errors raised on purpose; `exit_code` is what the command line ends with."""

    exit_code = 2


class FormatError(SnarkcudaError):
    """A file breaks its format: wrong magic, length, section, count or syntax."""


class MismatchError(SnarkcudaError):
    """Two inputs that are each well formed do not belong together."""


class NotInFieldError(SnarkcudaError):
    """A number is not a canonical element: negative, or not below the modulus."""


class NotOnCurveError(SnarkcudaError):
    """A point is off the curve, outside the subgroup, or infinity where that is refused."""


class UnsatisfiedError(SnarkcudaError):
    """The proof of this witness does not verify: the witness does not satisfy the circuit."""


class OutputError(SnarkcudaError):
    """An output cannot be written where it was asked for."""


class DeviceError(SnarkcudaError):
    """The machine computed something wrong, or refuses threads or memory."""

    exit_code = 3


class ForgeableKeyWarning(UserWarning):
    """A key was used whose proofs convince nobody, see `groth16.trust.key_warnings`."""


class NotZeroKnowledgeWarning(UserWarning):
    """A proof was made with fixed randomness: who knows the seed can learn about the witness."""
