# SPDX-License-Identifier: BSD-2-Clause
# The old file stays, nothing half stays, the text says what to do.
mkdir sub
ebeam report "$DATA/before.ebeam" -q -f html -o sub
echo "directory: exit $?"
ebeam report "$DATA/before.ebeam" -q -o none/out.html
echo "no directory: exit $?"
ebeam report "$DATA/before.ebeam" -q -f html -o /dev/full
echo "full: exit $?"
echo old >out.html
(ulimit -f 1; trap '' XFSZ; ebeam report "$DATA/before.ebeam" -q -o out.html; echo "limit: exit $?")
cat out.html
ls -A
