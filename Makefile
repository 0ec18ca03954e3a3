# Everything that a person or the CI types. Each target installs what it needs.

CARGO ?= cargo
TARGET = $(or $(CARGO_TARGET_DIR),target)
PREEMPTLAB = $(TARGET)/release/preemptlab
SUDO = $(if $(filter 0,$(shell id -u)),,sudo)

.PHONY: help demo build deb image release test test-unit test-binary test-vm test-report test-python test-system test-install test-cluster \
    studies study-history scenarios fidelity perturb nightly bench bench-gate bench-scale bench-stats fuzz check deny site test-site reproducible deps clean
.DEFAULT_GOAL := help

## help: print this list
help:
	@awk '/^## / { sub(/^## /, ""); \
	    if (match($$0, /^[A-Za-z-]+: /)) \
	        printf "  make %-14s %s\n", substr($$0, 1, RLENGTH - 2), substr($$0, RLENGTH + 1); \
	    else printf "  %-19s %s\n", "", $$0 }' $(firstword $(MAKEFILE_LIST))

# ARCH counts on the command line alone: kernel developers often have it in their environment.
OF_ARCH = $(if $(filter command line,$(origin ARCH)),$(ARCH))

## demo: build, run the quick study, print the comparison; ARCH=arm64 has guests of arm64
demo: build
	$(PREEMPTLAB) run studies/quick.toml $(if $(OF_ARCH),--arch $(OF_ARCH)) --out runs/quick$(addprefix -,$(OF_ARCH))

## build: leave the binary in target/release
build: deps
	$(CARGO) build --release --locked

## deb: Debian packages in target/deb
deb: build
	@SUDO="$(SUDO)" tests/install-deps dh:debhelper
	packaging/build-deb $(TARGET)

## image: the OCI image in target/image, without a registry and without a daemon
image: build
	packaging/build-image $(TARGET)

## release: what people download, in target/dist-files: a static binary, Debian packages, the OCI image,
## the Python wheel, what they are made of, and checksums
release: deps venv
	@SUDO="$(SUDO)" tests/install-deps dh:debhelper musl-gcc:musl-tools /usr/share/doc/musl/copyright:musl
	rustup target add x86_64-unknown-linux-musl
	CARGO="$(CARGO)" packaging/build-release $(TARGET)

## test: every test, with real kernels in real virtual machines; some 45 minutes
test: deps check
	@SUDO="$(SUDO)" tests/install-deps curl strace grub-mkconfig:grub-common
	CARGO="$(CARGO)" tests/run
	$(MAKE) test-report test-python test-site

## test-unit: the tests that need no virtual machine, no npm and, once built, no network
test-unit:
	@SUDO="$(SUDO)" tests/install-deps --without-npm
	CARGO="$(CARGO)" tests/run --tier unit

## test-binary: the tests that run the built preemptlab, strace or grub-mkconfig
test-binary: deps
	@SUDO="$(SUDO)" tests/install-deps curl strace grub-mkconfig:grub-common
	CARGO="$(CARGO)" tests/run --tier binary

## test-vm: the tests that boot real kernels in virtual machines
test-vm: deps
	CARGO="$(CARGO)" tests/run --tier vm

## test-report: the HTML report of a real recording in a headless Chromium
test-report: deps
	@SUDO="$(SUDO)" tests/install-deps c++:g++ chromium
	$(CARGO) build --profile quick --locked --workspace --bins --examples
	tests/report-in-browser

## test-python: the Python package in an environment of its own, its types, and the notebook
test-python: deps venv
	CARGO="$(CARGO)" tests/python

## test-install: a release in six clean roots, each of which executes studies/check again, and its wheel; needs root
test-install: release
	@SUDO="$(SUDO)" tests/install-deps mmdebstrap
	$(SUDO) tests/install/run $(TARGET)/dist-files
	CARGO="$(CARGO)" tests/python $(TARGET)/dist-files/*.whl

## test-site: the site in a headless Chromium, without a network, as wide as a phone, a tablet and a desk
test-site: deps site
	@SUDO="$(SUDO)" tests/install-deps chromium
	npm ci --prefix web --ignore-scripts --prefer-offline --no-audit --no-fund --silent
	npm run --prefix web --silent test:site -- $(abspath $(TARGET)/site $(TARGET)/screenshots)

## test-system: apply and revert on real disks that boot through GRUB and systemd-boot; needs root
test-system: deb
	@SUDO="$(SUDO)" tests/install-deps mmdebstrap mformat:mtools sfdisk:fdisk mke2fs:e2fsprogs \
	    python3 qemu-system-x86_64:qemu-system-x86 qemu-img:qemu-utils \
	    grub-fstest:grub-common /usr/share/OVMF/OVMF_CODE_4M.fd:ovmf
	$(SUDO) tests/system/run $(TARGET)

## test-cluster: the quick study on a real Slurm of two nodes, whose nodes and controller are killed;
## compares bytes
test-cluster: build
	@SUDO="$(SUDO)" tests/install-deps slurmctld slurmd sbatch:slurm-client munged:munge procps
	tests/cluster/run $(PREEMPTLAB)

## check: formatting, lints, and a link of every program, the fuzzers among them
check: deps
	@SUDO="$(SUDO)" tests/install-deps c++:g++
	$(CARGO) fmt --all --check
	$(CARGO) clippy --profile quick --locked --workspace --all-targets -- -D warnings
	$(CARGO) build --profile quick --locked --workspace --bins --examples

## deny: licences, sources and known security advisories of the dependencies (cargo-deny)
deny: deps
	@command -v cargo-deny > /dev/null || $(CARGO) install --locked cargo-deny
	$(CARGO) deny check

## reproducible: check that what the binary holds has the same bytes in whatever folder it is built
reproducible: deps
	tests/reproducible

## studies: every study in full, and its page; a night on 2 cores
STUDIES = ablation arora-2024 atlas atlas-cpus census database-cpus detour dynamic eevdf evans-2006 fleming-2019 \
    fleming-2019-arm64 folios inversion kstack postgres righi-2024 rowand-2011 rowand-2011-arm64 rseq-slice rt-boards smp writeback
studies: $(STUDIES:%=study-%)

## study-NAME: one study in full, and its page
study-folios: TRACE = --trace
# With one price some cells fail (3), and the page says so.
study-ablation: build
	$(PREEMPTLAB) run studies/ablation.toml --out runs/ablation
	sed '/^settings/d; s/^cost = .*/cost = "instructions"/' studies/ablation.toml > runs/instructions.toml
	sed '/^settings/d; s/^cost = .*/cost = "desktop-x86"/' studies/ablation.toml > runs/desktop-x86.toml
	sed '/^settings/d; s/^cost = .*/&\ncaches = true/' studies/ablation.toml > runs/caches.toml
	for cost in instructions desktop-x86 caches; do \
	    $(PREEMPTLAB) run runs/$$cost.toml --out runs/ablation-$$cost || test $$? = 3 || exit; \
	done
	$(PREEMPTLAB) compare runs/ablation runs/ablation-instructions runs/ablation-desktop-x86 runs/ablation-caches \
	    --template studies/ablation.md.j2 --out docs/studies/ablation.md
study-database-cpus: build
	$(PREEMPTLAB) run studies/database-cpus.toml --out runs/database-cpus
	$(PREEMPTLAB) run studies/database-cpus-postgres.toml --out runs/database-cpus-postgres
	$(PREEMPTLAB) compare runs/database-cpus runs/database-cpus-postgres \
	    --template studies/database-cpus.md.j2 --out docs/studies/database-cpus.md
study-census: build
	$(PREEMPTLAB) run studies/census.toml --trace --out runs/census
	$(PREEMPTLAB) compare runs/census --template studies/census.md.j2 --out docs/studies/census.md
	$(PREEMPTLAB) explain runs/census census --format markdown >> docs/studies/census.md
study-atlas: build
	$(PREEMPTLAB) run studies/atlas.toml --out runs/atlas || test $$? = 3
	$(PREEMPTLAB) run studies/atlas/killers.toml --out runs/atlas-killers
	$(PREEMPTLAB) compare runs/atlas runs/atlas-killers --template studies/atlas.md.j2 --out docs/studies/atlas.md
study-atlas-cpus: build
	$(PREEMPTLAB) run studies/atlas-cpus.toml --out runs/atlas-cpus
	$(PREEMPTLAB) run studies/atlas/killers.toml --out runs/atlas-killers
	$(PREEMPTLAB) run studies/atlas/killers-newest.toml --out runs/atlas-killers-newest
	$(PREEMPTLAB) run studies/atlas/hz.toml --out runs/atlas-hz
	$(PREEMPTLAB) compare runs/atlas-cpus runs/atlas-killers runs/atlas-killers-newest \
	    --template studies/atlas-cpus.md.j2 --out docs/studies/atlas-cpus.md
study-%: build
	$(PREEMPTLAB) run studies/$*.toml $(TRACE) --out runs/$*
	$(PREEMPTLAB) compare runs/$* --template studies/$*.md.j2 --out docs/studies/$*.md

## study-history: the series that Debian offers, with traces, and the page of their history; hours
study-history: build
	$(PREEMPTLAB) run studies/history.toml --trace --out runs/history
	$(PREEMPTLAB) compare runs/history --by kernel --out docs/studies/history.md \
	    --svg docs/studies/history

## scenarios: play the scenarios of docs/scenarios.md and draw its pictures
scenarios: build
	$(PREEMPTLAB) run $(filter-out scenarios/lazy-tick.toml,$(wildcard scenarios/*.toml)) \
	    --preempt none,voluntary,full,rt --format table --format svg=docs/scenarios
	$(PREEMPTLAB) run scenarios/lazy-tick.toml --kernel debian:7.2 \
	    --preempt full,lazy,rt,rt-lazy --format table --format svg=docs/scenarios

## fidelity: the same cells in virtual time, without prices, with them, with caches, and on this machine;
## leave the machine idle until it says so; needs root. SUBMIT=FILE.toml instead writes what this machine does into that one file
define prices-host
	mkdir -p runs
	sed 's/"debian:6.12"/"host"/; s/^count = 1/count = 5/' studies/prices.toml > runs/prices-host.toml
	$(SUDO) $(PREEMPTLAB) run runs/prices-host.toml --backend host --out runs/prices-host
endef
ifdef SUBMIT
fidelity: build
	$(prices-host)
	$(PREEMPTLAB) system calibrate --out runs/$(notdir $(SUBMIT))
	$(PREEMPTLAB) system submit runs/prices-host runs/$(notdir $(SUBMIT)) --out $(SUBMIT)
else
fidelity: build
	$(prices-host)
	sed 's/"debian:6.12"/"host"/' studies/fidelity.toml > runs/fidelity-host.toml
	@echo "Waiting, five minutes at most, until the cells before are no longer in the load average."
	@for i in $$(seq 60); do awk '{ exit $$1 >= 0.5 }' /proc/loadavg && break; sleep 5; done
	$(SUDO) $(PREEMPTLAB) run runs/fidelity-host.toml --backend host --out runs/fidelity-host
	@echo "The rest executes in virtual time: the machine need not be idle any more."
	$(PREEMPTLAB) run studies/fidelity.toml --out runs/fidelity
	$(PREEMPTLAB) compare runs/fidelity runs/fidelity-host
	$(PREEMPTLAB) run studies/prices.toml --out runs/prices
	sed 's/"amd-epyc"/"instructions"/' studies/prices.toml > runs/prices-instructions.toml
	$(PREEMPTLAB) run runs/prices-instructions.toml --out runs/prices-instructions
	sed 's/^cost = .*/&\ncaches = true/' studies/prices.toml > runs/prices-caches.toml
	$(PREEMPTLAB) run runs/prices-caches.toml --out runs/prices-caches
	$(PREEMPTLAB) export runs/prices runs/prices-instructions runs/prices-caches runs/prices-host \
	    --out runs/prices-tables
endif

## site: these pages as a static site in target/site, with every link and heading checked
site: venv
	tests/site $(TARGET)/site

## perturb: vary on purpose what must not change a digest, and compare every digest;
## then execute each cell of studies/quick.toml 20 times
perturb: deps
	@SUDO="$(SUDO)" tests/install-deps qemu-x86_64-static:qemu-user-static
	$(CARGO) test --profile quick --locked -p preemptlab-lab --test vm_perturb -- --ignored --nocapture \
	    --test-threads 1
	$(CARGO) bench --locked -p preemptlab-lab --bench figures

## nightly: the quick variant of every study, every scenario on every kernel, the longer
## tests, and whether what the binary holds is reproducible
MODELS = none,voluntary,full,lazy,rt,rt-lazy
# The programs with tests that are ignored because `make nightly` executes them.
NIGHTLY_TESTS = strace_bisect strace_run tests
nightly: build reproducible
	@SUDO="$(SUDO)" tests/install-deps qemu-aarch64-static:qemu-user-static
	for kernel in 6.1 6.12 7.2; do \
	    $(PREEMPTLAB) run scenarios/*.toml --kernel debian:$$kernel --preempt $(MODELS) \
	        || exit; \
	done
	for study in studies/quick/*.toml; do \
	    $(PREEMPTLAB) run $$study --out runs/quick-$$(basename $$study .toml) || exit; \
	done
	$(PREEMPTLAB) run runs/quick-census --trace
	$(PREEMPTLAB) explain runs/quick-census census
	$(CARGO) test --profile quick --locked -p preemptlab -p preemptlab-lab -p preemptlab-runner \
	    $(NIGHTLY_TESTS:%=--test %) -- --ignored --test-threads 1
	$(MAKE) perturb
	$(MAKE) test-cluster

## bench: measure the figures of docs/figures.md
bench: deps
	$(CARGO) bench --locked -p preemptlab-lab
	$(CARGO) bench --locked -p preemptlab --bench demo --bench large --bench merge --bench ready

## bench-gate: how many regressions `gate` finds, and how many it finds where there is none;
## PREEMPTLAB_GATE_TRIALS (1) of each kind
bench-gate: deps
	$(CARGO) bench --locked -p preemptlab --bench gate

## bench-scale: how much of a cluster 10,000 cells use, by simulation with measured costs
bench-scale: deps
	$(CARGO) bench --locked -p preemptlab-cluster --bench scale

## bench-stats: measure how often intervals cover the truth and verdicts are wrong
bench-stats: deps
	$(CARGO) bench --locked -p preemptlab-stats

## fuzz: feed each parser of outside data to libFuzzer for FUZZ_SECONDS (60)
FUZZ_SECONDS ?= 60
fuzz: deps
	@SUDO="$(SUDO)" tests/install-deps c++:g++
	CARGO="$(CARGO)" tests/fuzz $(FUZZ_SECONDS)

## deps: install what the build needs and the machine lacks; asks for sudo if necessary
deps:
	@SUDO="$(SUDO)" tests/install-deps

## clean: remove what cargo built
clean:
	$(CARGO) clean

# `tests/venv` needs it.
.PHONY: venv
venv:
	@python3 -c 'import ensurepip, venv' 2>/dev/null || SUDO="$(SUDO)" tests/install-deps --without-npm python3-venv
