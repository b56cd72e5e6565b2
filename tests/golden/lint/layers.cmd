# SPDX-License-Identifier: BSD-2-Clause
# check-layers finds each kind of forbidden edge, and nothing in code that keeps to the rules.
mkdir -p src/base src/model src/view/screen src/target src/cmd src/probe bpf include/abi
cat >src/model/good.c <<'EOF'
/* stderr, stdout and exit(1) in a comment, over
 * two lines: #include "target/mem.h" */
#include <stdlib.h>
#include "abi/record.h"
#include "base/error.h"
#include "event/event.h"
#include "model/profile.h"
#include "names/names.h"
static const char *text = "stdout, exit(1), \"argv\"";
EOF
echo '#include "cmd/main.h"' >src/cmd/main.c
echo '#include <curses.h>' >src/view/screen/terminal.c
echo '#include "base/error.h"' >src/model/profile.h
echo '#include "model/profile.h"' >src/view/good.c
"$ROOT/tools/check-layers" . || exit 1
echo '#include "model/events.h"' >src/view/leaks.c
echo '#include "model/more.h"' >src/model/events.h
echo '#include "event/event.h"' >src/model/more.h
cat >src/model/bad.c <<'EOF'
#include <stdio.h>
#include "target/mem.h"
#include "event/source.h"
EOF
cat >src/view/bad.c <<'EOF'
#include <bpf/libbpf.h>
#include "ebeam.skel.h"
#include "event/event.h"
#include <curses.h>
EOF
cat >src/target/bad.c <<'EOF'
#include "beam/node.h"
void f(void) { fprintf(stderr, "x"); printf("x"); exit(1); }
int g(int argc, char **argv);
EOF
echo '#include "event/event.h"' >src/probe/bad.c
echo '#include "event/source.h"' >src/probe/good.c
echo '#include "names/names.h"' >bpf/bad.h
echo '#include "base/error.h"' >include/abi/bad.h
mkdir src/attic
echo >src/attic/x.c
"$ROOT/tools/check-layers" .
