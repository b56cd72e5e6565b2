# SPDX-License-Identifier: BSD-2-Clause
# What stands before the damage is shown, with the reason and exit code 7.
size=$(wc -c <"$DATA/before.ebeam")
head -c $((size - 1)) "$DATA/before.ebeam" >cut.ebeam
ebeam report cut.ebeam -f folded
echo "cut: exit $?"
head -c 32 "$DATA/before.ebeam" >header.ebeam
ebeam report header.ebeam -f folded
echo "header only: exit $?"
head -c 31 "$DATA/before.ebeam" >less.ebeam
ebeam report less.ebeam -f folded
echo "less: exit $?"
: >empty.ebeam
ebeam report empty.ebeam -f folded
echo "empty: exit $?"
echo "this is not a capture, whatever it is called, and it is long enough" >text.ebeam
ebeam report text.ebeam -f folded
echo "text: exit $?"
ebeam report none.ebeam -f folded
echo "none: exit $?"
ebeam report . -f folded
echo "directory: exit $?"
ebeam report cut.ebeam -q
echo "quiet: exit $?"
ebeam diff cut.ebeam "$DATA/after.ebeam" -f text
echo "diff: exit $?"
ls -A
