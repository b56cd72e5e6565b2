# SPDX-License-Identifier: BSD-2-Clause
command -v fish >/dev/null || { echo "no fish"; exit 77; }
ebeam completions fish >script
cat >try <<'EOF'
source script
for line in 'ebeam re' 'ebeam help d' 'ebeam completions ' 'ebeam record --no' 'ebeam record --by i' \
	'ebeam record -f s' 'ebeam list --c'
	echo "$line:"
	complete -C "$line"
end
EOF
fish --no-config try
