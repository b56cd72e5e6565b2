# SPDX-License-Identifier: BSD-2-Clause
# groff warns about every macro and escape that it does not know.
command -v groff >/dev/null || { echo "no groff"; exit 77; }
ebeam help --man >ebeam.1
groff -man -ww -Tascii -rLL=78n ebeam.1 >page
grep -c 'ebeam' page >/dev/null && echo rendered
