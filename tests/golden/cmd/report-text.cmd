# SPDX-License-Identifier: BSD-2-Clause
ebeam report "$DATA/before.ebeam" -f text
ebeam report "$DATA/before.ebeam" -f text -n 2 -q
ebeam report "$DATA/before.ebeam" -f text -n 1 -q --color always
