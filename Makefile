# SPDX-License-Identifier: BSD-2-Clause
#
#   make            build/ebeam; needs no root, no Erlang, no network
#   make check      unit, golden and host-BPF tests under ASan and UBSan; needs no root
#   make lint       layers, format and warnings
#   make demo       (root) install what is missing, build, start a node, record it, show it
#   make test       (root) install what is missing, build, run the tests
#   make test-long  (root) all of them, on each release and kernel: for the night
#   make kernels    (root) the same on other kernels, in QEMU: hours where there is no KVM
#   make static     build/ebeam-static: one file that needs no shared library
#   make man        build/man: the manual pages
#   make dist       build/dist: that file as a tarball, a Debian package and a container image
#   make install PREFIX=/usr/local    make uninstall
#
# Knobs: V=1 (loud), DEBUG=1, WERROR=1, CC=clang, CLANG=clang-14, PKG_CONFIG, AR, DESTDIR,
# PROGRAM=build/ebeam-static (what is installed), EMULATOR=qemu-x86_64 (runs what was built, for the
# man page and the completions, where this host cannot).

VERSION := 0.1.0
PREFIX  ?= /usr/local
DESTDIR ?=
B       ?= build

CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool) bpftool)
PROTOC  ?= protoc-c
PKG_CONFIG ?= pkg-config
EMULATOR ?=
PROGRAM ?= $(B)/ebeam
PKGS    := libbpf libelf libdw liblzma zlib jansson libprotobuf-c capstone libpcre2-8 ncursesw libutf8proc

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-8s %s\n' '$(1)' '$(patsubst $(B)/%,%,$@)')

CFLAGS  ?= $(if $(DEBUG),-O0 -g3,-O2 -g)
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla \
           $(if $(WERROR),-Werror)
CPPFLAGS += -D_GNU_SOURCE -DEBEAM_VERSION='"$(VERSION)"' -Iinclude -Isrc -I$(B)/gen
# The same bytes from every folder: no path of it is in them.
MAP     := -ffile-prefix-map=$(CURDIR)=.
ALL_CFLAGS = -std=gnu11 $(WARN) $(CFLAGS) $(shell $(PKG_CONFIG) --cflags $(PKGS) 2>/dev/null) \
           $(MAP) -MMD -MP
LIBS     = $(shell $(PKG_CONFIG) --libs $(PKGS)) -lm
SAN     := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

SRC     := $(sort $(wildcard src/*/*.c src/*/*/*.c))
MAIN    := src/cmd/program/main.c
LIBSRC  := $(filter-out $(MAIN),$(SRC))
# maps.bpf.c first: libbpf 1.1's linker gives a map its right offset only if the definition comes
# before the declarations.  BPFOWN are objects of their own.
BPFOWN  := features calibrate sitecheck kernel_btf
BPFSRC  := bpf/maps.bpf.c \
           $(filter-out bpf/maps.bpf.c $(BPFOWN:%=bpf/%.bpf.c),$(sort $(wildcard bpf/*.bpf.c)))
ASSETS  := $(sort $(wildcard src/export/assets/* doc/*.md))
REFERENCES := $(sort $(wildcard src/target/references/*.gz))

LIBOBJ  := $(LIBSRC:%.c=$(B)/obj/%.o) $(B)/obj/gen/pprof.pb-c.o $(B)/obj/gen/assets.o \
           $(B)/obj/gen/references.o
SANOBJ  := $(LIBSRC:%.c=$(B)/san/%.o) $(B)/san/gen/pprof.pb-c.o $(B)/san/gen/assets.o \
           $(B)/san/gen/references.o
GEN     := $(B)/gen/ebeam.skel.h $(B)/gen/features.skel.h $(B)/gen/calibrate.skel.h \
           $(B)/gen/kernel_btf.skel.h $(B)/gen/pprof.pb-c.h $(B)/gen/assets.h \
           $(B)/gen/references.h $(B)/gen/terminfo.h

SHOWN   := $(B)/man/list $(addprefix $(B)/completions/,bash zsh fish)

define newline


endef

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all check lint demo test test-long deps test-deps install uninstall clean unit golden bpf-host \
        fuzz fuzz-smoke e2e web matrix bench man tools kernels static dist FORCE

all: $(B)/ebeam $(SHOWN)

# ---- the program --------------------------------------------------------------------------

$(B)/ebeam: $(B)/obj/$(MAIN:.c=.o) $(B)/libebeam.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/libebeam.a: $(LIBOBJ)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

$(B)/obj/%.o: %.c $(B)/flags | $(GEN)
	$(call say,CC)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(B)/obj/gen/%.o: $(B)/gen/%.c $(B)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(ALL_CFLAGS) -w -c -o $@ $<

# What was built of another version, or with other flags, is built anew.
FLAGS   := $(VERSION) $(strip $(CFLAGS)) $(MAP)
ifneq ($(FLAGS),$(shell cat $(B)/flags 2>/dev/null))
$(B)/flags: FORCE
endif
$(B)/flags:
	$(Q)mkdir -p $(B) && echo '$(FLAGS)' > $@

# ---- one file ------------------------------------------------------------------------------

# What static programs of glibc cannot do well, ours does itself: src/target/static_dwarf.c and
# src/view/screen/static_locale.c.  The list of what was linked is for tools/dist: whose licences hold.
WRAPPED := dlopen iswprint mblen mbtowc wcrtomb wcwidth
STATIC_LIBS = $(shell $(PKG_CONFIG) --static --libs $(PKGS)) -lm

static: $(B)/ebeam-static
$(B)/ebeam-static: $(B)/obj/$(MAIN:.c=.o) $(B)/libebeam.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -static -s -Wl,--trace -Wl,--undefined=__wrap_dlopen \
	    $(WRAPPED:%=-Wl,--wrap=%) -o $@ $^ $(STATIC_LIBS) > $@.inputs

# ---- generated files ----------------------------------------------------------------------

$(B)/gen/pprof.pb-c.c $(B)/gen/pprof.pb-c.h &: src/export/pprof.proto
	$(call say,PROTOC)
	$(Q)mkdir -p $(B)/gen && $(PROTOC) --c_out=$(B)/gen -Isrc/export src/export/pprof.proto

# Terminals that are known where no terminfo is installed (ncurses: TERMINFO="b64:...").
$(B)/gen/terminfo.h:
	$(call say,TERMINFO)
	$(Q)mkdir -p $(B)/gen && for t in xterm-256color screen linux vt220; do \
	    e=$$(infocmp -x -0 -q -Q2 $$t) && printf '{"%s", "%s"},\n' $$t "$$e" || exit 1; done > $@

$(B)/gen/assets.c $(B)/gen/assets.h &: tools/embed $(ASSETS)
	$(call say,EMBED)
	$(Q)mkdir -p $(B)/gen && tools/embed $(B)/gen/assets $(ASSETS)

$(B)/gen/references.c $(B)/gen/references.h &: tools/embed $(REFERENCES)
	$(call say,EMBED)
	$(Q)mkdir -p $(B)/gen && tools/embed $(B)/gen/references $(REFERENCES)

BPF_CFLAGS := -target bpf -D__TARGET_ARCH_x86 -D__bpf__ -O2 -g -mcpu=v3 -Wall -Wextra \
              -Wno-unused-parameter \
              -Wno-gnu-variable-sized-type-not-at-end $(MAP) -Iinclude -Ibpf
$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(B)/flags
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

UNIT    := $(patsubst tests/unit/%.c,$(B)/tests/unit/%, \
             $(sort $(wildcard tests/unit/*/test_*.c tests/unit/*/*/test_*.c)))
BPFHOST := $(patsubst tests/bpf_host/%.c,$(B)/tests/bpf_host/%,$(sort $(wildcard tests/bpf_host/test_*.c)))
TESTLIB := $(patsubst %.c,$(B)/san/%.o,$(sort $(wildcard tests/lib/*.c)))

$(B)/san/%.o: %.c $(B)/flags | $(GEN)
	$(call say,CC-SAN)
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -Itests -std=gnu11 $(WARN) -Wno-missing-field-initializers \
	    -Wno-gnu-variable-sized-type-not-at-end $(SAN) -fsanitize=fuzzer-no-link \
	    $(MAP) -MMD -MP -c -o $@ $<

# To optimise these takes longer than to run them.
UNOPTIMISED := cmd view export capture event probe/kernel probe/site probe/attach probe/session probe/watch
$(B)/san/tests/%.o $(UNOPTIMISED:%=$(B)/san/src/%/%.o): SAN += -O0
# It reads its own types.
$(B)/san/tests/unit/target/test_dwarf.o: SAN += -O0 -g

$(B)/san/gen/%.o: $(B)/gen/%.c $(B)/flags
	$(call say,CC-SAN)
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -std=gnu11 $(SAN) -fsanitize=fuzzer-no-link -w -c -o $@ $<

$(B)/libebeam-san.a: $(SANOBJ)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

$(B)/tests/unit/%: $(B)/san/tests/unit/%.o $(TESTLIB) $(B)/libebeam-san.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CLANG) $(SAN) -fuse-ld=lld -o $@ $^ $(LIBS) -lcmocka

# All programs in one unit each: to optimise them takes longer than to run them.
$(B)/tests/bpf_host/%: tests/bpf_host/%.c $(wildcard bpf/*.[ch] include/abi/* tests/bpf_host/*.h)
	$(call say,CC-SAN)
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -Ibpf -Itests -Itests/bpf_host -std=gnu11 -Wall -Wextra \
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

$(B)/fuzz/%: $(B)/san/tests/fuzz/%.o $(B)/libebeam-san.a
	$(call say,FUZZ)
	$(Q)mkdir -p $(@D) && $(CLANG) $(SAN) -fuse-ld=lld -fsanitize=fuzzer -o $@ $^ $(LIBS)
$(B)/fuzz/fuzz_image: $(B)/san/tests/lib/mem_image.o
fuzz: $(FUZZ)
fuzz-smoke: $(FUZZ)
	$(Q)tests/fuzz/smoke $(FUZZ)

# ---- tools --------------------------------------------------------------------------------

TOOLS := $(patsubst tools/%.c,$(B)/tools/%,$(sort $(wildcard tools/*.c)))
$(B)/tools/%: $(B)/obj/tools/%.o $(B)/libebeam.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -o $@ $^ $(LIBS)
$(B)/obj/tools/sitecheck.o: | $(B)/gen/sitecheck.skel.h
$(B)/obj/tools/terminal.o: CPPFLAGS += -Itests
$(B)/tools/terminal: $(B)/obj/tools/terminal.o $(B)/obj/tests/lib/zoo.o $(B)/libebeam.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -o $@ $^ $(LIBS)
$(B)/obj/tools/memsnap.o: CPPFLAGS += -Itests
$(B)/tools/memsnap: $(B)/obj/tools/memsnap.o $(B)/obj/tests/lib/recorded.o \
                    $(B)/obj/tests/lib/image.o $(B)/obj/tests/lib/mem_image.o $(B)/libebeam.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -o $@ $^ $(LIBS)
# Runs where nothing is installed: in guests of other kernels.
$(B)/obj/tools/verify.o: CPPFLAGS += -Itests
$(B)/tools/verify: $(B)/obj/tools/verify.o $(B)/obj/tests/lib/verifier_baseline.o $(B)/libebeam.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -static -o $@ $^ \
	    $(shell $(PKG_CONFIG) --static --libs libbpf libelf zlib)
tools: $(TOOLS) $(B)/tests/kernels/private_stack

# For guests of other kernels (tests/kernels), with a BPF object of its own.
$(B)/tests/kernels/%.bpf.o: tests/kernels/%.bpf.c
	$(call say,BPF)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<
$(B)/tests/kernels/%.skel.h: $(B)/tests/kernels/%.bpf.o
	$(call say,SKEL)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@
$(B)/obj/tests/kernels/%.o: CPPFLAGS += -I$(B)/tests/kernels
$(B)/obj/tests/kernels/private_stack.o: $(B)/tests/kernels/private_stack.skel.h
$(B)/tests/kernels/%: $(B)/obj/tests/kernels/%.o
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(LIBS)

# ---- lint, install, and the targets that need root ----------------------------------------

lint: $(B)/man/list
	$(Q)tools/check-layers
	$(Q)tools/check-style
	$(Q)tools/check-commits
	$(Q)tools/check-man $(B)/man

# One page for each line of the list: section and name.
man: $(B)/man/list
$(B)/man/list: $(B)/ebeam
	$(call say,MAN)
	$(Q)rm -rf $(@D) && mkdir -p $(addprefix $(@D)/man,1 5 7) && $(EMULATOR) $(B)/ebeam help --list > $@.new
	$(Q)while read -r section name about; do \
	    page=ebeam-$$name && [ $$name != ebeam ] || page=ebeam; \
	    $(EMULATOR) $(B)/ebeam help --man $$section $$name > $(@D)/man$$section/$$page.$$section || exit 1; \
	done < $@.new
	$(Q)mv $@.new $@

$(B)/completions/%: $(B)/ebeam
	$(call say,COMPL)
	$(Q)mkdir -p $(@D) && $(EMULATOR) $(B)/ebeam completions $* > $@

# Mode, file, and where it goes below $(PREFIX).  Nothing that was built is run: it may be for
# another host, or another user.
INSTALLED = 755:$(PROGRAM):bin/ebeam $(foreach p,$(PAGES),644:$(B)/man/$p:share/man/$p) \
            644:$(B)/completions/bash:share/bash-completion/completions/ebeam \
            644:$(B)/completions/zsh:share/zsh/site-functions/_ebeam \
            644:$(B)/completions/fish:share/fish/vendor_completions.d/ebeam.fish \
            644:LICENSE:share/doc/ebeam/LICENSE
# Read when it is there: `make install` has it made first.
PAGES   = $(shell awk '{ print "man" $$1 "/" ($$2 == "ebeam" ? $$2 : "ebeam-" $$2) "." $$1 }' $(B)/man/list 2>/dev/null)
part = $(word $(1),$(subst :, ,$(2)))
AT = "$(DESTDIR)$(PREFIX)/

install: $(PROGRAM) $(SHOWN)
	$(foreach i,$(INSTALLED),install -D -m $(call part,1,$i) $(call part,2,$i) $(AT)$(call part,3,$i)"$(newline))

uninstall:
	$(foreach i,$(INSTALLED),rm -f $(AT)$(call part,3,$i)"$(newline))
	$(foreach s,1 5 7,rm -f $(AT)share/man/man$s/"ebeam-*.$s$(newline))
	[ ! -d $(AT)share/doc/ebeam" ] || rmdir $(AT)share/doc/ebeam"

# The time that files in packages have: of the sources, not of the build.
SOURCE_DATE_EPOCH ?= $(or $(shell git log -1 --format=%ct 2>/dev/null),$(shell stat -c %Y Makefile))
dist: $(B)/ebeam-static $(SHOWN)
	$(Q)MAKE='$(MAKE)' SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) tools/dist $(VERSION) $(B)

deps:
	$(Q)tools/install-deps build
test-deps:
	$(Q)tools/install-deps test

demo: deps
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tools/demo

test: test-deps
	$(Q)tools/run-all-tests

test-long: test-deps
	$(Q)tools/run-all-tests --long

kernels: test-deps
	$(Q)$(MAKE) --no-print-directory all static tools
	$(Q)tests/kernels/run

clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' -type f 2>/dev/null)
