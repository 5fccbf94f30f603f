# The whole developer interface; see CONTRIBUTING.md.
.PHONY: demo test build setup bench format lint asan fuzz clean
.DEFAULT_GOAL := build

JOBS ?= $(shell nproc)
SOURCES = $(shell git ls-files '*.cc' '*.h')

setup:
	@tools/setup.sh

build: setup
	@[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
	@cmake --build build/release -j $(JOBS) -- --quiet

demo: build
	@examples/digits/demo.sh

test: build
	@ctest --test-dir build/release --output-on-failure -j $(JOBS) | tail -n 6
	@.venv/bin/python -m pytest -q tests

bench: build
	@bench/run.sh

asan: setup
	@cmake --preset asan >/dev/null
	@cmake --build build/asan -j $(JOBS)
	@ctest --test-dir build/asan --output-on-failure -j $(JOBS)
	@NNEFC=build/asan/nnefc .venv/bin/python -m pytest -q tests

fuzz: setup
	@tests/fuzz/run.sh

format:
	@clang-format -i $(SOURCES)

lint:
	@tools/lint.sh

clean:
	@rm -rf build
