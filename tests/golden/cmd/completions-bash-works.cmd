# SPDX-License-Identifier: BSD-2-Clause
# The script in a real shell: what it offers for a line, the last word being completed.
command -v bash >/dev/null || { echo "no bash"; exit 77; }
ebeam completions bash >script
cat >try <<'EOF'
. ./script
compopt() { echo "(file names)"; } # only works while a real completion runs
try() {
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
	echo "$*: "
	_ebeam
	printf '  %s\n' "${COMPREPLY[@]}"
}
try ebeam ''
try ebeam re
try ebeam --
try ebeam help d
try ebeam completions ''
try ebeam record --no
try ebeam record --by ''
try ebeam record --by = i
try ebeam record --color =
try ebeam record -f s
try ebeam diff -f ''
try ebeam record -o ''
try ebeam record -p ''
try ebeam report ''
try ebeam list -
EOF
bash --norc try
