# SPDX-License-Identifier: BSD-2-Clause
# check-layers finds each kind of forbidden edge, and nothing in code that keeps to the rules.
mkdir -p src/base src/model/stats src/model/profile src/model/stream src/view/screen src/view/table \
	src/target src/cmd/program src/probe/site bpf include/abi
cat >src/model/stats/good.c <<'EOF'
/* stderr, stdout and exit(1) in a comment, over
 * two lines: #include "target/mem.h" */
#include <stdlib.h>
#include "abi/record.h"
#include "base/error.h"
#include "event/event.h"
#include "model/stats/gc_stats.h"
#include "model/stream/event_stream.h"
#include "names/names.h"
static const char *text = "stdout, exit(1), \"argv\"";
EOF
echo '#include "cmd/program/main.h"' >src/cmd/program/main.c
echo '#include <curses.h>' >src/view/screen/terminal.c
echo '#include "base/error.h"' >src/model/profile/profile.h
echo '#include "model/profile/profile.h"' >src/view/table/good.c
"$ROOT/tools/check-layers" . || exit 1
echo '#include "model/stats/events.h"' >src/view/table/leaks.c
echo '#include "model/stats/more.h"' >src/model/stats/events.h
echo '#include "event/event.h"' >src/model/stats/more.h
cat >src/model/stats/bad.c <<'EOF'
#include <stdio.h>
#include "target/mem.h"
#include "event/source.h"
EOF
cat >src/view/table/bad.c <<'EOF'
#include <bpf/libbpf.h>
#include "ebeam.skel.h"
#include "event/event.h"
#include <curses.h>
EOF
cat >src/target/bad.c <<'EOF'
#include "beam/node/node.h"
void f(void) { fprintf(stderr, "x"); printf("x"); exit(1); }
int g(int argc, char **argv);
EOF
echo '#include "event/event.h"' >src/probe/site/bad.c
echo '#include "event/source.h"' >src/probe/site/good.c
echo 'static const struct table_column columns[] = {{0}};' >src/cmd/program/bad.c
echo '#include "names/names.h"' >bpf/bad.h
echo '#include "base/error.h"' >include/abi/bad.h
mkdir src/attic
echo >src/attic/x.c
"$ROOT/tools/check-layers" .

# Folders inside of a layer: their order, files outside of them, folders that the table does not have.
rm -r src bpf include
mkdir -p src/beam/term src/beam/process src/beam/locate src/beam/attic src/base/more src/view/top/menu \
	include bpf
cat >src/beam/term/bad.c <<'EOF'
#include "beam/node/node.h"
#include "beam/process/process.h"
#include "beam/term/term.h"
EOF
cat >src/beam/process/process.h <<'EOF'
#include "beam/term/term.h"
#include "beam/match/call_match.h"
EOF
echo '#include "beam/locate/node_open.h"' >src/beam/process/bad.c
echo '#include "beam/process/process.h"' >src/beam/locate/good.c
echo '#include "beam/term/term.h"' >src/beam/flat.c
echo >src/beam/attic/x.c
echo >src/base/more/x.c
echo >src/view/top/menu/x.c
"$ROOT/tools/check-layers" .

# The table itself: a row may name only rows above it.
mkdir tools
sed 's|^src/beam/term: node$|src/beam/term: node vm attic|' "$ROOT/tools/check-layers" >tools/check-layers
rm -r src && mkdir src
sh tools/check-layers .
