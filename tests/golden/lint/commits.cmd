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
for range in HEAD~6..HEAD HEAD~6..HEAD~4 nosuch..HEAD; do
	code=0
	"$ROOT"/tools/check-commits tree $range >out 2>/dev/null || code=$?
	sed 's/^[0-9a-f]*: //' out
	echo "$range: exit $code"
done
