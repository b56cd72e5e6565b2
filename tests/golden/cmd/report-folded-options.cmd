# SPDX-License-Identifier: BSD-2-Clause
for option in --lines --kinds --no-native --no-kernel --idle; do
	echo "$option:"
	ebeam report "$DATA/before.ebeam" -qf folded --by none $option
done
