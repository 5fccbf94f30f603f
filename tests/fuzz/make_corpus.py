#!/usr/bin/env python3
"""Write the files of all cases as corpora for the fuzz targets.

usage: make_corpus.py OUT_DIR      makes OUT_DIR/graph, OUT_DIR/quant, OUT_DIR/dat
"""
import pathlib
import sys

tests = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(tests))
import case_file

out = pathlib.Path(sys.argv[1])
for name in ("graph", "quant", "dat"):
    (out / name).mkdir(parents=True, exist_ok=True)
for path in tests.rglob("*.case"):
    for number, section in enumerate(case_file.parse(path.read_text())[1]):
        if section.kind not in ("file", "bytes", "dat"):
            continue
        name = section.arguments[0]
        corpus = {"graph.nnef": "graph", "graph.quant": "quant"}.get(name, "dat" if name.endswith(".dat") else None)
        if corpus is None:
            continue
        (out / corpus / f"{path.stem}-{number}").write_bytes(case_file.content(section))
