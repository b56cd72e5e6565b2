# SPDX-License-Identifier: BSD-2-Clause
ebeam report "$DATA/before.ebeam" -f folded
