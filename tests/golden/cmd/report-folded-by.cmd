# SPDX-License-Identifier: BSD-2-Clause
for by in name process initial-call scheduler none; do
	echo "by $by:"
	ebeam report "$DATA/before.ebeam" -qf folded --by $by
done
