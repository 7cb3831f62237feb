# The menu. Every target calls what may also be called by hand.
SHELL := /bin/bash
PRESET ?= release

.PHONY: help deps build test check fmt tidy asan tsan fuzz golden bench compare quickstart

help:            ## this list
	@grep -E '^[a-z]+: .*##|^[a-z]+: *##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

deps:            ## install the Debian packages and Python tools that build and tests need
	scripts/install-dependencies --tests
	. scripts/common.sh && venv_install .venv tests/requirements.txt

build:           ## build PRESET (release unless said: make build PRESET=debug)
	. scripts/common.sh && configure $(PRESET) -DINLAY_TESTS=ON
	ninja -C build/$(PRESET)

test: build      ## unit tests of PRESET
	ctest --test-dir build/$(PRESET) --output-on-failure --parallel $$(nproc) -L unit

check:           ## everything that continuous integration runs
	scripts/test

fmt:             ## format the C++ files
	tools/format.sh

tidy: build      ## clang-tidy over the files that differ from BASE (HEAD unless said; BASE=all for all)
	tools/tidy.sh build/$(PRESET) $(BASE)

asan:            ## unit tests under the address and undefined-behaviour sanitizers
	$(MAKE) test PRESET=asan

tsan:            ## tests of what uses threads, under the thread sanitizer
	scripts/tsan

fuzz:            ## clang's libFuzzer on every fuzz target, SECONDS each (60 unless said)
	scripts/fuzz all $(or $(SECONDS),60)

golden:          ## make the files of tests/golden anew with the reference library
	. scripts/common.sh && venv_install .venv-reference tools/requirements-reference.txt
	.venv-reference/bin/python tools/make_golden.py
	.venv-reference/bin/python tools/make_golden_architectures.py

bench: build     ## speed on this machine with the demo model
	scripts/get-demo-model
	build/release/inlay bench --model models/all-MiniLM-L6-v2 --texts examples/documents.jsonl

compare:         ## vectors of DATA against the reference library's
	. scripts/common.sh && venv_install .venv-reference tools/requirements-reference.txt
	.venv-reference/bin/python bench/compare_reference.py $(DATA) --random-bert --write

quickstart:      ## from a fresh clone to the first search
	scripts/quickstart
