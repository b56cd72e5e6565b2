# SPDX-License-Identifier: BSD-2-Clause
# check-style names each thing that it does not like.
cat >bad.c <<'EOF'
// not a comment of ours
int x;@
const char *url = "https://example.org/"; /* https://example.org/ is fine */
EOF
sed -i 's/@/ /' bad.c
printf '/* TO%s */\n' DO >>bad.c
awk 'BEGIN { printf "/* "; for (i = 0; i < 100; i++) printf "x"; print " */" }' >>bad.c
printf '/* SPDX-License-Identifier: BSD-2-Clause */\n/* %s */\n' "good" >good.c
"$ROOT/tools/check-style" "$PWD/bad.c" "$PWD/good.c" | sed "s|$PWD/||"
awk 'BEGIN { for (i = 0; i < 701; i++) print "/* SPDX-License-Identifier: BSD-2-Clause */" }' >long.c
"$ROOT/tools/check-style" "$PWD/long.c" | sed "s|$PWD/||"
# Retired words, in two parts so that this file passes.
printf '/* SPDX-License-Identifier: BSD-2-Clause */\n/* one lo%s at all, peek%s. */\n' ok ed >words.c
printf '/* SPDX-License-Identifier: BSD-2-Clause */\n/* It lo%s like one, lo%s up. */\n' oks oked >plain.c
"$ROOT/tools/check-style" "$PWD/words.c" "$PWD/plain.c" | sed "s|$PWD/||"
