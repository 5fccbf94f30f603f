"""The format of case files: comment lines, then sections that begin with a line "--- KIND ARGUMENTS".

file NAME            a text file inside model/
dat NAME TYPE SHAPE  a tensor file inside model/, its items follow
bytes NAME           raw bytes in hexadecimal, inside model/
npy NAME TYPE SHAPE  an array file beside model/, its items follow
run ARGUMENTS        a command line of nnefc, run beside model/; exit, stdout and stderr that follow belong to it
exit STATUS          expected exit status (default 0)
stdout, stderr       the exact expected text (default: stderr empty, stdout not looked at)
"""
import dataclasses
import re
import shlex
import struct

import numpy as np

KINDS = {"file", "dat", "bytes", "npy", "run", "exit", "stdout", "stderr"}


@dataclasses.dataclass
class Section:
    kind: str
    arguments: list
    header: str
    body: str


@dataclasses.dataclass
class Run:
    arguments: list
    status: int = 0
    stdout: str = None
    stderr: str = ""


def parse(text):
    """Returns (head, sections) of a case file's text."""
    head, sections = [], []
    for line in text.splitlines(keepends=True):
        if line.startswith("--- "):
            header = line[4:].strip()
            kind, *arguments = shlex.split(header)
            if kind not in KINDS:
                raise ValueError(f"unknown section '{kind}'")
            sections.append(Section(kind, arguments, header, ""))
        elif sections:
            sections[-1].body += line
        else:
            if line.strip() and not line.startswith("#"):
                raise ValueError(f"text before the first section: {line!r}")
            head.append(line)
    return "".join(head), sections


def runs(sections):
    result = []
    for section in sections:
        if section.kind == "run":
            result.append(Run(section.arguments))
        elif section.kind == "exit":
            result[-1].status = int(section.arguments[0])
        elif section.kind in ("stdout", "stderr"):
            setattr(result[-1], section.kind, section.body)
    return result


def other_runs(sections, *options):
    """The runs of a model whose outputs are compared with expected ones, for others than the CPU's code to do as well."""
    return [Run([*run.arguments, *options], stderr=run.stderr) for run in runs(sections)
            if run.arguments[:2] == ["run", "model"] and "--expect" in run.arguments
            and not {"--reference", "--target"} & {*run.arguments} and not run.status]


def rebased(head, sections, results):
    """The text of the case with the stdout, stderr and exit of its runs replaced by `results`."""
    out, results = [head], iter(results)
    wants_stdout = []
    for section in sections:
        if section.kind == "run":
            wants_stdout.append(False)
        elif section.kind == "stdout":
            wants_stdout[-1] = True
    wants_stdout = iter(wants_stdout)
    for section in sections:
        if section.kind in ("exit", "stdout", "stderr"):
            continue
        out.append(f"--- {section.header}\n{section.body}")
        if section.kind == "run":
            status, stdout, stderr = next(results)
            if status:
                out.append(f"--- exit {status}\n")
            if next(wants_stdout):
                out.append(f"--- stdout\n{stdout}")
            if stderr:
                out.append(f"--- stderr\n{stderr}")
    return "".join(out)


def array(section):
    """The NumPy array of an npy section."""
    dtype, shape = section.arguments[1], _shape(section.arguments[2])
    words = section.body.split()
    if dtype == "bool":
        items = [{"true": True, "false": False, "1": True, "0": False}[word] for word in words]
    else:
        items = [float(word) if "float" in dtype else int(word) for word in words]
    return np.array(items, dtype=np.dtype(dtype)).reshape(shape)


def content(section):
    """The bytes of the file that a file, dat or bytes section stands for."""
    if section.kind == "dat":
        return tensor_file(section)
    return section.body.encode() if section.kind == "file" else bytes.fromhex(section.body)


ITEM_CODES = {"float": 0, "uint": 1, "quint": 2, "qint": 3, "int": 4, "bool": 5}


def tensor_file(section):
    """The bytes of an NNEF tensor file (NNEF 1.0.5, "Tensor File Format") for a dat section."""
    match = re.fullmatch(r"(q?u?int|float|bool)(\d+)", section.arguments[1])
    name, bits, shape = match.group(1), int(match.group(2)), _shape(section.arguments[2])
    words = section.body.split()
    if name == "float":
        data = np.array([float(word) for word in words], dtype=f"<f{bits // 8}").tobytes()
    elif bits in (8, 16, 32, 64):
        kind = "u" if name in ("uint", "quint", "bool") else "i"
        data = np.array([int(word) for word in words], dtype=f"<{kind}{bits // 8}").tobytes()
    else:
        digits = "".join(format(int(word) & ((1 << bits) - 1), f"0{bits}b") for word in words)
        digits += "0" * (-len(digits) % 8)
        data = bytes(int(digits[i:i + 8], 2) for i in range(0, len(digits), 8))
    extents = list(shape) + [0] * (8 - len(shape))
    header = struct.pack("<2B2BII8IIHH", 0x4E, 0xEF, 1, 0, len(data), len(shape), *extents, bits, ITEM_CODES[name], 0)
    return header.ljust(128, b"\0") + data


def _shape(text):
    return tuple(int(word) for word in text.strip("[]").split(",") if word)
