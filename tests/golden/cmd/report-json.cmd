# SPDX-License-Identifier: BSD-2-Clause
ebeam report "$DATA/before.ebeam" -q -j
ebeam report "$DATA/before.ebeam" -q -j >one
ebeam report "$DATA/before.ebeam" -q -f json -o - | cmp - one
