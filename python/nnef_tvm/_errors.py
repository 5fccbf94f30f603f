"""What the compiler has to say, as exceptions and warnings."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi

UNSUPPORTED = {"check/unknown-operation", "check/unresolved-operations", "import/unsupported"}


@dataclass(frozen=True)
class Diagnostic:
    """One message, with its place."""

    severity: str
    """``"error"`` or ``"warning"``."""
    id: str
    """Stable, as ``"conv/stride-rank"``."""
    message: str
    file: str
    line: int | None
    """From 1, in a text."""
    column: int | None
    offset: int | None
    """In bytes, in a file that is no text."""
    notes: tuple[str, ...]
    hint: str
    """How to mend it; may be empty."""
    text: str
    """All of it, as ``nnefc`` prints it."""

    def __str__(self) -> str:
        return self.text.rstrip("\n")


@tvm_ffi.register_error
class NNEFError(ValueError):
    """The model, its data or an argument is at fault."""

    diagnostics: tuple[Diagnostic, ...]
    """Everything that was found, warnings included."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class OpNotImplemented(NNEFError, tvm.error.OpNotImplemented):  # type: ignore[misc]
    """Operations of the model are not known, or have no conversion; the message lists all of them."""


class NNEFWarning(UserWarning):
    """What the compiler warns of."""


def _diagnostic(entry: Mapping[str, Any]) -> Diagnostic:
    fields: dict[str, Any] = {}
    for name in Diagnostic.__dataclass_fields__:
        value = entry[name]
        fields[name] = str(value) if isinstance(value, str) else value
    fields["notes"] = tuple(map(str, entry["notes"]))
    return Diagnostic(**fields)


def value_of(outcome: Sequence[Any]) -> Any:
    """The value of what a function of the library returned; raises its errors, warns of its warnings."""
    value, entries = outcome
    diagnostics = [_diagnostic(entry) for entry in entries]
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    if errors:
        text = "\n".join(map(str, errors))
        missing = UNSUPPORTED.intersection(diagnostic.id for diagnostic in errors)
        if missing:
            raise OpNotImplemented(
                f"The following operators are not supported for frontend NNEF:\n{text}\n"
                "nnef_tvm.register_operation() adds operations.",
                diagnostics,
            )
        raise NNEFError(text, diagnostics)
    for diagnostic in diagnostics:
        warnings.warn(str(diagnostic), NNEFWarning, stacklevel=3)
    return value
