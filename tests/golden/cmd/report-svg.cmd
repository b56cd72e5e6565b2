# SPDX-License-Identifier: BSD-2-Clause
ebeam report "$DATA/before.ebeam" -q -o out.svg
cat out.svg
