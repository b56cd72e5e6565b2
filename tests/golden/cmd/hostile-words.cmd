# SPDX-License-Identifier: BSD-2-Clause
# Words of others never reach the terminal raw, and wrong values are quoted as they were given.
ebeam "$(printf 'x\033[31m\007\302\2331m')"
echo "exit $?"
ebeam report "$(printf 'no\033]0;title\007such\177.ebeam')"
echo "exit $?"
ebeam doctor -p 99999999999999999999
echo "exit $?"
for d in 1e3 0x10 999999999h; do
	ebeam record -d "$d"
	echo "exit $?"
done
# A limit on the size of files is an error like a full disk, and no death by signal.
{ (ulimit -f 1 && ebeam report "$DATA/after.ebeam" -o big.html); echo "exit $?" >code; } 2>&1 | cat >&2
cat code; rm code
ls -A
# Two results in one place, and formats of a later version.
ebeam record -d 1 -f text --capture -
echo "exit $?"
ebeam record -d 1 -o x.html --capture x.html
echo "exit $?"
ebeam record -d 1 -o x.ebeam --capture y.ebeam
echo "exit $?"
ebeam report "$DATA/after.ebeam" -o x.perfetto.json
echo "exit $?"
