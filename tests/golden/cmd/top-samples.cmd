# SPDX-License-Identifier: BSD-2-Clause
# top counts the samples of a capture that report counts: not those of threads that waited.
ebeam report "$DATA/after.ebeam" -o x.html
ebeam top -i "$DATA/after.ebeam" -j >x.json
