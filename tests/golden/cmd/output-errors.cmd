# SPDX-License-Identifier: BSD-2-Clause
# Standard output that cannot be written whole is a failure; a reader that went away is a quiet one.
ebeam help >/dev/full
echo "full disk: exit $?"
ebeam help >&-
echo "closed: exit $?"
{ sleep 0.2; ebeam completions bash; echo "no reader: exit $?" >code; } | true
cat code
ebeam report "$DATA/before.ebeam" -f folded -q >/dev/full
echo "report, full disk: exit $?"
ebeam report "$DATA/before.ebeam" -f json -q >/dev/full
echo "report -j, full disk: exit $?"
for suffix in html svg perfetto.json; do
	ebeam gc -i "$DATA/before.ebeam" -o "x.$suffix"
	echo "gc -o x.$suffix: exit $?"
done
ebeam gc -i "$DATA/before.ebeam" -q -o x.json
echo "gc -o x.json: exit $?"
head -c 12 x.json; echo
