# SPDX-License-Identifier: BSD-2-Clause
ebeam diff "$DATA/before.ebeam" "$DATA/after.ebeam" -f text
ebeam diff "$DATA/before.ebeam" "$DATA/before.ebeam" -f text
