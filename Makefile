# SPDX-License-Identifier: BSD-2-Clause
#
#   make            build/ebeam; needs no root, no Erlang, no network
#   make check      unit, golden and host-BPF tests under ASan and UBSan; needs no root
#   make lint       layers, format and warnings
#   make demo       (root) install what is missing, build, start a node, record it, show it
#   make test       (root) install what is missing, build, run every test
#   make install PREFIX=/usr/local    make uninstall
#
# Knobs: V=1 (loud), DEBUG=1, WERROR=1, CC=clang, CLANG=clang-14.

VERSION := 0.1.0
PREFIX  ?= /usr/local
DESTDIR ?=
B       ?= build

CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool) bpftool)
PROTOC  ?= protoc-c
PKGS    := libbpf libelf libdw zlib jansson libprotobuf-c capstone libpcre2-8 ncursesw libutf8proc

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-8s %s\n' '$(1)' '$(patsubst $(B)/%,%,$@)')

CFLAGS  ?= $(if $(DEBUG),-O0 -g3,-O2 -g)
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla \
           $(if $(WERROR),-Werror)
CPPFLAGS += -D_GNU_SOURCE -DEBEAM_VERSION='"$(VERSION)"' -Iinclude -Isrc -I$(B)/gen
ALL_CFLAGS = -std=gnu11 $(WARN) $(CFLAGS) $(shell pkg-config --cflags $(PKGS) 2>/dev/null) -MMD -MP
LIBS     = $(shell pkg-config --libs $(PKGS)) -lm
SAN     := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

SRC     := $(sort $(wildcard src/*/*.c src/*/*/*.c))
MAIN    := src/cmd/main.c
LIBSRC  := $(filter-out $(MAIN),$(SRC))
# maps.bpf.c first: libbpf 1.1's linker gives a map its right offset only if the definition comes
# before the declarations.  BPFOWN are objects of their own.
BPFOWN  := features calibrate places
BPFSRC  := bpf/maps.bpf.c \
           $(filter-out bpf/maps.bpf.c $(BPFOWN:%=bpf/%.bpf.c),$(sort $(wildcard bpf/*.bpf.c)))
ASSETS  := $(sort $(wildcard src/export/assets/*))

LIBOBJ  := $(LIBSRC:%.c=$(B)/obj/%.o) $(B)/obj/gen/pprof.pb-c.o $(B)/obj/gen/assets.o
SANOBJ  := $(LIBSRC:%.c=$(B)/san/%.o) $(B)/san/gen/pprof.pb-c.o $(B)/san/gen/assets.o
GEN     := $(B)/gen/ebeam.skel.h $(B)/gen/features.skel.h $(B)/gen/calibrate.skel.h \
           $(B)/gen/pprof.pb-c.h $(B)/gen/assets.h

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all check lint demo test deps test-deps install uninstall clean unit golden bpf-host \
        fuzz fuzz-smoke e2e web matrix bench man tools

all: $(B)/ebeam

# ---- the program --------------------------------------------------------------------------

$(B)/ebeam: $(B)/obj/$(MAIN:.c=.o) $(B)/libebeam.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/libebeam.a: $(LIBOBJ)
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/obj/%.o: %.c | $(GEN)
	$(call say,CC)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(B)/obj/gen/%.o: $(B)/gen/%.c
	$(call say,CC)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(ALL_CFLAGS) -w -c -o $@ $<

# ---- generated files ----------------------------------------------------------------------

$(B)/gen/pprof.pb-c.c $(B)/gen/pprof.pb-c.h &: src/export/pprof.proto
	$(call say,PROTOC)
	$(Q)mkdir -p $(B)/gen && $(PROTOC) --c_out=$(B)/gen -Isrc/export src/export/pprof.proto

$(B)/gen/assets.c $(B)/gen/assets.h &: tools/embed $(ASSETS)
	$(call say,EMBED)
	$(Q)mkdir -p $(B)/gen && tools/embed $(B)/gen/assets $(ASSETS)

BPF_CFLAGS := -target bpf -D__TARGET_ARCH_x86 -D__bpf__ -O2 -g -mcpu=v3 -Wall -Wextra \
              -Wno-unused-parameter \
              -Wno-gnu-variable-sized-type-not-at-end -Iinclude -Ibpf
$(B)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call say,BPF)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

$(B)/bpf/ebeam.linked.o: $(BPFSRC:bpf/%.bpf.c=$(B)/bpf/%.bpf.o)
	$(call say,BPFLINK)
	$(Q)$(BPFTOOL) gen object $@ $^

$(B)/gen/ebeam.skel.h: $(B)/bpf/ebeam.linked.o
	$(call say,SKEL)
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen skeleton $< name ebeam_bpf > $@

$(BPFOWN:%=$(B)/gen/%.skel.h): $(B)/gen/%.skel.h: $(B)/bpf/%.bpf.o
	$(call say,SKEL)
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen skeleton $< name $*_bpf > $@

# ---- tests that need nothing --------------------------------------------------------------

UNIT    := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(sort $(wildcard tests/unit/test_*.c)))
BPFHOST := $(patsubst tests/bpf_host/%.c,$(B)/tests/bpf_host/%,$(sort $(wildcard tests/bpf_host/test_*.c)))
TESTLIB := $(patsubst %.c,$(B)/san/%.o,$(sort $(wildcard tests/lib/*.c)))

$(B)/san/%.o: %.c | $(GEN)
	$(call say,CC-SAN)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) -Itests $(filter-out -O2,$(ALL_CFLAGS)) $(SAN) -c -o $@ $<

$(B)/san/gen/%.o: $(B)/gen/%.c
	$(call say,CC-SAN)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(ALL_CFLAGS) -w $(SAN) -c -o $@ $<

$(B)/libebeam-san.a: $(SANOBJ)
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/tests/unit/%: $(B)/san/tests/unit/%.o $(TESTLIB) $(B)/libebeam-san.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(SAN) -o $@ $^ $(LIBS) -lcmocka

# All programs in one unit each: to optimise them takes longer than to run them.
$(B)/tests/bpf_host/%: tests/bpf_host/%.c $(wildcard bpf/*.[ch] include/abi/* tests/bpf_host/*.h)
	$(call say,CC-SAN)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) -Ibpf -Itests -Itests/bpf_host -std=gnu11 -Wall -Wextra \
	    -Wno-unused-parameter -Wno-gnu-variable-sized-type-not-at-end $(SAN) -O0 -DBPF_HOST_TEST -o $@ $< -lcmocka

check: unit bpf-host golden

unit: $(UNIT)
	$(Q)tools/run-tests unit $(UNIT)

bpf-host: $(BPFHOST)
	$(Q)tools/run-tests bpf-host $(BPFHOST)

golden: $(B)/ebeam
	$(Q)tests/golden/run $(B)/ebeam

# ---- the HTML flame graph in a browser: fixtures made by the exporters ----------------------

$(B)/obj/tests/%.o: CPPFLAGS += -Itests
$(B)/tests/web/fixtures: $(B)/obj/tests/web/fixtures.o $(B)/obj/tests/lib/snapfix.o $(B)/libebeam.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -o $@ $^ $(LIBS)

web: $(B)/tests/web/fixtures
	$(Q)tests/web/run $<

# ---- fuzzing (libFuzzer, clang) -----------------------------------------------------------

FUZZ    := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZOBJ := $(LIBSRC:%.c=$(B)/fuzzobj/%.o) $(B)/fuzzobj/gen/pprof.pb-c.o $(B)/fuzzobj/gen/assets.o
FUZZSAN := -O1 -g -w -fsanitize=address,undefined

$(B)/fuzzobj/%.o: %.c | $(GEN)
	$(call say,CC-FUZZ)
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -std=gnu11 $(FUZZSAN) -fsanitize=fuzzer-no-link \
	    -MMD -MP -c -o $@ $<

$(B)/fuzzobj/gen/%.o: $(B)/gen/%.c
	$(call say,CC-FUZZ)
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -std=gnu11 $(FUZZSAN) -fsanitize=fuzzer-no-link -c -o $@ $<

$(B)/libebeam-fuzz.a: $(FUZZOBJ)
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/fuzz/%: $(B)/fuzzobj/tests/fuzz/%.o $(B)/libebeam-fuzz.a
	$(call say,FUZZ)
	$(Q)mkdir -p $(@D) && $(CLANG) $(FUZZSAN) -fsanitize=fuzzer -o $@ $^ $(LIBS)
fuzz: $(FUZZ)
fuzz-smoke: $(FUZZ)
	$(Q)tests/fuzz/smoke $(FUZZ)

# ---- tools --------------------------------------------------------------------------------

TOOLS := $(patsubst tools/%.c,$(B)/tools/%,$(sort $(wildcard tools/*.c)))
$(B)/tools/%: $(B)/obj/tools/%.o $(B)/libebeam.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -o $@ $^ $(LIBS)
$(B)/obj/tools/placecheck.o: | $(B)/gen/places.skel.h
$(B)/obj/tools/terminal.o: CPPFLAGS += -Itests
$(B)/tools/terminal: $(B)/obj/tools/terminal.o $(B)/obj/tests/lib/zoo.o $(B)/libebeam.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -o $@ $^ $(LIBS)
tools: $(TOOLS)

# ---- lint, install, and the targets that need root ----------------------------------------

lint:
	$(Q)tools/check-layers
	$(Q)tools/check-style

man: $(B)/ebeam.1
$(B)/ebeam.1: $(B)/ebeam
	$(call say,MAN)
	$(Q)$(B)/ebeam help --man > $@

install: $(B)/ebeam man
	install -D -m 755 $(B)/ebeam $(DESTDIR)$(PREFIX)/bin/ebeam
	install -D -m 644 $(B)/ebeam.1 $(DESTDIR)$(PREFIX)/share/man/man1/ebeam.1
	mkdir -p $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	         $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(B)/ebeam completions bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ebeam
	$(B)/ebeam completions zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ebeam
	$(B)/ebeam completions fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ebeam.fish

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/ebeam $(DESTDIR)$(PREFIX)/share/man/man1/ebeam.1 \
	      $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ebeam \
	      $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ebeam \
	      $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ebeam.fish

deps:
	$(Q)tools/install-deps build
test-deps:
	$(Q)tools/install-deps test

demo: deps
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tools/demo

test: test-deps
	$(Q)tools/run-all-tests

clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
