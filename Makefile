# The whole developer interface; see CONTRIBUTING.md.
.PHONY: demo demo-vulkan test test-cuda build wheel docs setup bench format lint asan fuzz clean
.DEFAULT_GOAL := build

JOBS ?= $(shell nproc)
# Tests run side by side: one TVM thread each, so that spinning workers do not fight for cores.
TEST_ENV = TVM_NUM_THREADS=$${TVM_NUM_THREADS:-1}
SOURCES = $(shell git ls-files '*.cc' '*.h')

setup:
	@tools/setup.sh

build: setup
	@[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
	@cmake --build build/release -j $(JOBS) -- --quiet

wheel: build
	@tools/wheel.sh

docs: setup
	@.venv/bin/python -m mkdocs build --quiet

demo: build
	@examples/digits/demo.sh

demo-vulkan: build
	@examples/vulkan-host/demo.sh

test: build
	@$(TEST_ENV) ctest --test-dir build/release --output-on-failure -j $(JOBS)
	@$(TEST_ENV) .venv/bin/python -m pytest -q -n $(JOBS) tests

# What needs nvcc, and on a machine with a GPU every case on it.
test-cuda: build
	@$(TEST_ENV) NNEF_TEST_DEVICES=cuda .venv/bin/python -m pytest -q -n $(JOBS) tests -k cuda

bench: build
	@bench/run.sh

asan: setup
	@cmake --preset asan >/dev/null
	@cmake --build build/asan -j $(JOBS)
	@$(TEST_ENV) ctest --test-dir build/asan --output-on-failure -j $(JOBS)
	@$(TEST_ENV) NNEFC=build/asan/nnefc .venv/bin/python -m pytest -q -n $(JOBS) tests

fuzz: setup
	@tests/fuzz/run.sh

format:
	@clang-format -i $(SOURCES)

lint:
	@tools/lint.sh

clean:
	@rm -rf build
