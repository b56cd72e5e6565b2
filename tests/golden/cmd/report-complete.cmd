# SPDX-License-Identifier: BSD-2-Clause
ebeam report "$DATA/before.ebeam" -f folded --by none --min-complete 94 >/dev/null
echo "94: exit $?"
ebeam report "$DATA/before.ebeam" -f folded --by none --min-complete 95 >/dev/null
echo "95: exit $?"
