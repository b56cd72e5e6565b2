# SPDX-License-Identifier: BSD-2-Clause
# Where the output goes, and how it is called.
cp "$DATA/before.ebeam" busy.ebeam
cp busy.ebeam cut.ebeam.partial
ebeam report busy.ebeam -q
ebeam report busy.ebeam -q -f svg
ebeam report busy.ebeam -q -f pprof
ebeam report cut.ebeam.partial -q
ebeam report - -q <busy.ebeam
ebeam report busy.ebeam -q -o named.html
ebeam report busy.ebeam -q -f folded -o named.anything
ebeam report busy.ebeam
ls -A
cmp busy.html named.html
cmp busy.html cut.html
ebeam report busy.ebeam -q -f html -o - | cmp - busy.html
gzip -t busy.pb.gz && echo pprof is gzip
