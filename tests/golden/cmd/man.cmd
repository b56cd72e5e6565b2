# SPDX-License-Identifier: BSD-2-Clause
# The pages that come from the tables, and one of doc/.
ebeam help --list
ebeam help --list | while read -r section name about; do
	[ $section != 1 ] || ebeam help --man 1 $name
done
ebeam help --man privileges
