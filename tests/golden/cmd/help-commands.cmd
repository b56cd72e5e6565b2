# SPDX-License-Identifier: BSD-2-Clause
# Every command, in three ways that print the same.
for c in list doctor record report diff version help completions; do
	ebeam help $c | tee one
	ebeam $c --help | cmp - one
	ebeam $c -h | cmp - one
done
