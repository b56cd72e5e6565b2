# SPDX-License-Identifier: BSD-2-Clause
# groff warns about every macro and escape that it does not know.
command -v groff >/dev/null || { echo "no groff"; exit 77; }
ebeam help --list | while read -r section name about; do
	ebeam help --man $section $name >page.man
	groff -man -ww -Tascii -rLL=78n page.man >page
	grep -c 'ebeam' page >/dev/null && echo "$section $name rendered"
done
