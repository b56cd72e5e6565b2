# SPDX-License-Identifier: BSD-2-Clause
# check-commits finds each kind of message that breaks the rules, and takes one that keeps them.
git init -q tree
cd tree
commit() {
	git -c user.name=a -c user.email=a@b commit -q --allow-empty -m "$1" ${2:+-m "$2"}
}
commit "start"
commit "gc: add a column" "Why, and how it was tested."
commit "view, cmd/top: move a panel" "Why."
commit "Add a column" "Why."
commit "gc: a full stop." "Why."
commit "gc: without a body"
commit "gc: $(printf '%072d' 0)" "Why."
cd ..
"$ROOT"/tools/check-commits tree HEAD~6..HEAD | sed 's/^[0-9a-f]*: //'
"$ROOT"/tools/check-commits tree HEAD~6..HEAD~4
