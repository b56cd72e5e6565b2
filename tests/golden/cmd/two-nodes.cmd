# SPDX-License-Identifier: BSD-2-Clause
# A command looks at one node; of two, the first is not silently forgotten.
for c in top ps record 'trace lists:map/2'; do
	ebeam $c -p a --pid=b
	echo "exit $?"
done
