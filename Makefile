# Everything that a person or the CI types. Each target installs what it needs.

CARGO ?= cargo
TARGET = $(or $(CARGO_TARGET_DIR),target)
PREEMPTLAB = $(TARGET)/release/preemptlab
SUDO = $(if $(filter 0,$(shell id -u)),,sudo)

.PHONY: demo build deb test test-report test-system studies scenarios fidelity perturb nightly bench bench-stats fuzz check reproducible deps clean

## demo: build, run the quick study, print the comparison
demo: build
	$(PREEMPTLAB) run studies/quick.toml --out runs/quick

## build: leave the binary in target/release
build: deps
	$(CARGO) build --release --locked

## deb: Debian packages in target/deb
deb: build
	@SUDO="$(SUDO)" tests/install-deps dh:debhelper
	packaging/build-deb $(TARGET)

## test: every test, with real kernels in real virtual machines
test: deps check reproducible
	@SUDO="$(SUDO)" tests/install-deps strace grub-mkconfig:grub-common
	CARGO="$(CARGO)" tests/run
	$(MAKE) test-report

## test-report: the HTML report of a real recording in a headless Chromium
test-report: deps
	@SUDO="$(SUDO)" tests/install-deps c++:g++ chromium
	$(CARGO) build --release --locked --workspace --bins --examples
	tests/report-in-browser

## test-system: apply and revert on real disks that boot through GRUB and systemd-boot; needs root
test-system: deb
	@SUDO="$(SUDO)" tests/install-deps mmdebstrap mformat:mtools sfdisk:fdisk mke2fs:e2fsprogs \
	    python3 qemu-system-x86_64:qemu-system-x86 qemu-img:qemu-utils \
	    grub-fstest:grub-common /usr/share/OVMF/OVMF_CODE_4M.fd:ovmf
	$(SUDO) tests/system/run $(TARGET)

## check: formatting and lints, and that every program links, the fuzzer's among them
check: deps
	@SUDO="$(SUDO)" tests/install-deps c++:g++
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --locked --workspace --all-targets -- -D warnings
	$(CARGO) build --release --locked --workspace --bins --examples

## reproducible: the guest has the same bytes whatever folder it is built in
reproducible: deps
	tests/reproducible-guest

## studies: every study in full, and its page; a night on 2 cores
STUDIES = evans-2006 fleming-2019 postgres righi-2024 rowand-2011
studies: $(STUDIES:%=study-%)

## study-NAME: one study in full, and its page
study-%: build
	$(PREEMPTLAB) run studies/$*.toml --out runs/$*
	$(PREEMPTLAB) report runs/$* --template studies/$*.md.j2 --out docs/studies/$*.md

## scenarios: play the scenarios of docs/scenarios.md and draw its pictures
scenarios: build
	$(PREEMPTLAB) scenario $(filter-out scenarios/lazy-tick.toml,$(wildcard scenarios/*.toml)) \
	    --compare none,voluntary,full,rt --svg docs/scenarios
	$(PREEMPTLAB) scenario scenarios/lazy-tick.toml --kernel debian:7.2 \
	    --compare full,lazy,rt,rt-lazy --svg docs/scenarios

## fidelity: the same cells in virtual time and on this machine's own kernel, which should be idle;
## needs root
fidelity: build
	$(PREEMPTLAB) run studies/fidelity.toml --out runs/fidelity
	sed 's/"debian:6.12"/"host"/' studies/fidelity.toml > runs/fidelity-host.toml
	$(SUDO) $(PREEMPTLAB) run runs/fidelity-host.toml --backend host --out runs/fidelity-host
	$(PREEMPTLAB) compare runs/fidelity runs/fidelity-host

## perturb: what must not matter is varied on purpose, and every digest compared; then 20 executions
## of each cell of studies/quick.toml
perturb: deps
	@SUDO="$(SUDO)" tests/install-deps qemu-x86_64-static:qemu-user-static
	$(CARGO) test --release --locked -p preemptlab-preparation --test perturb -- --ignored --nocapture \
	    --test-threads 1
	$(CARGO) bench --locked -p preemptlab-preparation --bench figures

## nightly: the quick variant of every study, every scenario on every kernel, the longer tests
MODELS = none,voluntary,full,lazy,rt,rt-lazy
nightly: build
	for kernel in 6.1 6.12 7.2; do \
	    $(PREEMPTLAB) scenario scenarios/*.toml --kernel debian:$$kernel --compare $(MODELS) \
	        || exit; \
	done
	for study in $(STUDIES); do \
	    $(PREEMPTLAB) run studies/quick/$$study.toml --out runs/quick-$$study || exit; \
	done
	$(CARGO) test --release --locked -p preemptlab --test truth -- --ignored
	$(MAKE) perturb
	$(CARGO) test --release --locked -p preemptlab-runner --test faults -- --ignored

## bench: the figures that the README and the docs name
bench: deps
	$(CARGO) bench --locked -p preemptlab-preparation
	$(CARGO) bench --locked -p preemptlab --bench large --bench ready

## bench-stats: how often intervals hold what they should, and words are wrong
bench-stats: deps
	$(CARGO) bench --locked -p preemptlab-stats

## fuzz: feed each parser of what comes from outside for FUZZ_SECONDS
FUZZ_SECONDS ?= 60
fuzz: deps
	@SUDO="$(SUDO)" tests/install-deps c++:g++
	CARGO="$(CARGO)" tests/fuzz $(FUZZ_SECONDS)

deps:
	@SUDO="$(SUDO)" tests/install-deps

clean:
	$(CARGO) clean
