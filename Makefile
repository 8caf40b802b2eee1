# SPDX-License-Identifier: GPL-2.0-only
# folioscope: `make demo` shows it working, `make check` tests it, `make help` lists the rest.
OUT     ?= out
PREFIX  ?= /usr/local
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /sbin/bpftool) bpftool)
VERSION := $(shell sed -n 's/^\#define FOLIOSCOPE_VERSION "\(.*\)"/\1/p' src/version.h 2>/dev/null)

ifeq ($(V),)
Q = @
say = @printf '  %-8s %s\n' "$(1)" "$(2)"
endif

WARN     := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wno-unused-parameter
ALL_CPPFLAGS = -D_GNU_SOURCE -Iinclude -Isrc -I$(OUT) $(CPPFLAGS)
CFLAGS   ?= -O2 -g
ALL_CFLAGS = $(WARN) -std=gnu11 $(CFLAGS)
LIBS     := -lbpf -lelf -lz -ljansson -lncursesw -ltinfo -lm
BPF_CFLAGS := -O2 -g --target=bpf -mcpu=v3 -D__bpf__ -D__TARGET_ARCH_x86 -Wall -Wextra -Werror \
	-Wno-unused-parameter -Wno-missing-declarations -Iinclude -Ibpf -I. -I/usr/include/$(shell $(CC) -print-multiarch 2>/dev/null)

.DELETE_ON_ERROR:
.PHONY: all clean help install demo check check-unit check-live check-vm check-kernel bench \
	fuzz deps-build deps-check vmlinux

all: $(OUT)/folioscope $(OUT)/folio-bench

# ---- BPF: every bpf/*.bpf.c linked into one object, one skeleton ----
BPF_OBJ := $(patsubst bpf/%.bpf.c,$(OUT)/bpf/%.bpf.o,$(wildcard bpf/*.bpf.c))

$(OUT)/bpf/%.bpf.o: bpf/%.bpf.c vmlinux.h
	@mkdir -p $(@D)
	$(call say,BPF,$@)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@

$(OUT)/probes.skel.h: $(BPF_OBJ)
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen object $(OUT)/probes.bpf.o $^
	$(Q)$(BPFTOOL) gen skeleton $(OUT)/probes.bpf.o name probes_bpf > $@

# ---- the program ----
OBJ := $(patsubst src/%.c,$(OUT)/src/%.o,$(wildcard src/*.c))

$(OUT)/src/%.o: src/%.c | $(OUT)/probes.skel.h
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(OUT)/folioscope: $(OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

$(OUT)/folio-bench: $(wildcard tools/folio-bench.c tools/bench*.c tools/bench.h)
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) $(filter %.c,$^) -pthread -o $@

# ---- tests: each names the files of src/ it links in a comment `units: a.c b.c` ----
UNIT     := $(patsubst tests/unit/%.c,$(OUT)/tests/unit/%,$(wildcard tests/unit/test_*.c))
ASAN     := $(patsubst tests/unit/%.c,$(OUT)/tests/asan/%,$(wildcard tests/unit/test_*.c))
LIVE     := $(patsubst tests/live/live_%.c,$(OUT)/tests/live/%,$(wildcard tests/live/live_*.c))
FUZZ     := $(patsubst tests/fuzz/%.c,$(OUT)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
units     = $(addprefix src/,$(shell sed -n 's/^.*\bunits: \(.*\)\*\/$$/\1/p' $(1)))
TEST_CFLAGS = $(ALL_CPPFLAGS) $(ALL_CFLAGS) -Itests/unit -MMD -MP -MF $(OUT)/dep/$(subst /,_,$@).d -MT $@

$(OUT)/tests/unit/%: tests/unit/%.c $(wildcard src/*.c)
	@mkdir -p $(@D) $(OUT)/dep
	$(call say,TEST,$@)
	$(Q)$(CC) $(TEST_CFLAGS) $< $(call units,$<) -lcmocka $(LIBS) -lm -pthread -o $@

$(OUT)/tests/asan/%: tests/unit/%.c $(wildcard src/*.c)
	@mkdir -p $(@D) $(OUT)/dep
	$(call say,ASAN,$@)
	$(Q)$(CC) $(TEST_CFLAGS) $(SANITIZE) $< $(call units,$<) -lcmocka $(LIBS) -lm -pthread -o $@

$(OUT)/tests/live/%: tests/live/live_%.c $(wildcard tests/live/harness*.c tests/live/*.h)
	@mkdir -p $(@D) $(OUT)/dep
	$(call say,TEST,$@)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(filter %.c,$^) -ljansson -pthread -o $@

$(OUT)/tests/fuzz/%: tests/fuzz/%.c $(wildcard src/*.c)
	@mkdir -p $(@D) $(OUT)/dep
	$(call say,FUZZ,$@)
	$(Q)$(CLANG) $(TEST_CFLAGS) -fsanitize=fuzzer,address,undefined $< $(call units,$<) $(LIBS) -o $@

# One make builds everything first, so that tests run alone on the machine.
check: deps-check
	$(Q)$(MAKE) --no-print-directory all $(UNIT) $(ASAN) $(LIVE)
	$(Q)tests/run.sh $(OUT) unit asan shell live vm

check-unit: deps-check
	$(Q)$(MAKE) --no-print-directory $(UNIT) $(ASAN)
	$(Q)tests/run.sh $(OUT) unit asan

check-live: deps-check
	$(Q)$(MAKE) --no-print-directory all $(LIVE)
	$(Q)tests/run.sh $(OUT) live

check-vm: deps-check
	$(Q)$(MAKE) --no-print-directory all $(LIVE)
	$(Q)tests/run.sh $(OUT) vm

# The project's own kernel (tests/kernel), built when its inputs have changed.
check-kernel: deps-check
	$(Q)tools/install-packages.sh tests/kernel/packages
	$(Q)$(MAKE) --no-print-directory all $(LIVE)
	$(Q)tests/run.sh $(OUT) kernel

# FUZZ_SECONDS each; new inputs go to OUT, not into the repository.
fuzz: deps-check
	$(Q)$(MAKE) --no-print-directory $(FUZZ)
	$(Q)for f in $(FUZZ); do name=$${f##*/fuzz_}; mkdir -p $(OUT)/corpus/$$name; \
		$$f -max_total_time=$(or $(FUZZ_SECONDS),60) -timeout=10 $(OUT)/corpus/$$name \
			tests/fuzz/corpus/$$name || exit 1; done

demo: deps-build
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tools/demo.sh $(OUT)

bench: deps-check
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tools/bench/bench.sh $(OUT)

deps-build:
	$(Q)tools/install-packages.sh packages

deps-check:
	$(Q)tools/install-packages.sh packages tests/packages tests/vm/packages

vmlinux: deps-build
	$(Q)tools/gen-vmlinux.sh > vmlinux.h.new && mv vmlinux.h.new vmlinux.h

install: all
	install -D -m 755 $(OUT)/folioscope $(DESTDIR)$(PREFIX)/bin/folioscope
	install -D -m 755 $(OUT)/folio-bench $(DESTDIR)$(PREFIX)/bin/folio-bench
	install -D -m 644 docs/folioscope.8 $(DESTDIR)$(PREFIX)/share/man/man8/folioscope.8
	install -D -m 644 tools/folio-bench.8 $(DESTDIR)$(PREFIX)/share/man/man8/folio-bench.8
	install -D -m 644 completion/folioscope.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/folioscope

clean:
	rm -rf $(OUT)

help:
	@echo 'make             build (no root): $(OUT)/folioscope, $(OUT)/folio-bench'
	@echo 'make demo        install what is missing, build, show it working (root)'
	@echo 'make check       install what tests need, run all of them (root)'
	@echo 'make check-unit | check-live | check-vm | check-kernel   parts of it'
	@echo 'make bench       what observing costs (root)      make fuzz     parsers'
	@echo 'make vmlinux     regenerate vmlinux.h             make install  DESTDIR= PREFIX='
	@echo 'V=1 shows commands.'

-include $(wildcard $(OUT)/*/*.d $(OUT)/dep/*.d)
