# SPDX-License-Identifier: BSD-2-Clause
ebeam
ebeam -h | cmp - "$(ebeam >all; echo all)"
ebeam --help | cmp - all
ebeam help | cmp - all
