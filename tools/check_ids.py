#!/usr/bin/env python3
"""Every diagnostic id in the sources must stand in the expected text of a case or a unit test.

Ids are string literals of the form "family/what"; rules report them as fail("what", ...) within their operation's name,
so an id that the sources spell in two parts is looked for by its second part.
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
# Guards against faults of our own or of the system, which no input provokes.
NO_CASE = {"nnefc/internal", "compile/internal", "run/failed", "run/outputs", "artefact/map", "artefact/read", "artefact/load",
           "relax/read", "emit/dynamic"}
REPORT = re.compile(r'(?:error|warning)\(\s*"([a-z0-9_-]+/[a-z0-9_-]+)"')

ids = {}
for folder in ("src", "tools"):
    for path in (root / folder).rglob("*.cc"):
        for match in REPORT.finditer(path.read_text()):
            ids.setdefault(match.group(1), path.relative_to(root))
evidence = "\n".join(p.read_text() for pattern in ("*.case", "*.cc", "*.py") for p in (root / "tests").rglob(pattern))
missing = {i: p for i, p in ids.items() if i not in evidence and i not in NO_CASE}
for name, path in sorted(missing.items()):
    print(f"lint: diagnostic '{name}' ({path}) has no case in tests/")
sys.exit(1 if missing else 0)
