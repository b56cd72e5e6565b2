# SPDX-License-Identifier: BSD-2-Clause
# Pages of doc/ as text: by name, by section, with the name of the page; and more of a command.
ebeam help privileges | tee one
ebeam help 7 privileges | cmp - one
ebeam help ebeam-privileges | cmp - one
ebeam help 7 events | head -n 20
ebeam help json | grep -c .  >/dev/null && echo "json is there"
ebeam help 1 top | sed -n '/^THE SCREEN/,/Ctrl-C/p'
# All of them fit into 79 columns, but for what stands as it is.
for t in json incidents internals privileges support '7 events'; do
	ebeam help $t | grep -v '^    ' | awk 'length > 79'
done
