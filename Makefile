# Remuda: `make up` starts a cluster on this machine and shows it work; `make test` runs everything. HACKING.md has the rest.
BUILD ?= build
PREFIX ?= /usr/local
BENCH ?=
AGAINST ?=

PACKAGES ?= .

.PHONY: all deps test-deps up test test-heavy bench install deb rpm tarball clean

all: deps
	@tools/build $(BUILD)

deps:
	@tools/deps build

test-deps: deps
	@tools/deps test

up: all
	@tools/up

test test-heavy: export REMUDA_WERROR = true

test: all test-deps
	@tools/test $(BUILD)

test-heavy: all test-deps
	@tools/test $(BUILD) heavy

bench: all
	@BENCH="$(BENCH)" tools/bench $(BUILD) $(AGAINST)

install: all
	@meson configure $(BUILD) -Dprefix="$(PREFIX)"
	@DESTDIR="$(DESTDIR)" meson install -C $(BUILD) --quiet

deb rpm tarball: all
	@tools/package $@ $(BUILD) $(PACKAGES)

clean:
	rm -rf $(BUILD) $(BUILD)-* remuda remudad remuda-shepherd remuda-sim remuda-smtp remuda-pmix bin libexec
