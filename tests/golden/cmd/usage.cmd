# SPDX-License-Identifier: BSD-2-Clause
# Wrong words: exit 2, one line that says what, why and what to do.
try() {
	echo "ebeam $*"
	ebeam "$@"
	echo "exit $?"
} 2>&1
try nonsense
try recrod
try re
try -j list
try --nonsense
try list --sorted name
try list --sort nonsense
try list --columns memory
try list extra
try list -n 0
try help nonsense
try help --man --markdown
try help --man --list
try help --markdown list
try help --list list
try help list ps
try help 7
try help 7 ps
try help 1 json
try help incident
try help --man nonsense
try completions
try completions tcsh
try record -F 0
try record -d soon
try record -d 1 --by mood
try record -d 1 -f nonsense
try record -d 1 --mode nothing
try record -d 1 -o out.xyz
try report
try report a b
try report a.ebeam --json -f svg
try report a.ebeam -f capture
try report a.ebeam -p 1
try diff a.ebeam
try diff a b -f pprof
