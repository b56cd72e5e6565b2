/* SPDX-License-Identifier: BSD-2-Clause */
/* See list_view.h. */
#include "view/host/list_view.h"

#include <math.h>

#include "base/compiler.h"
#include "base/units.h"

#define ROW(p) ((const struct list_row *)(p))

static void col_uptime(struct strbuf *out, const void *row, const void *ctx)
{
	char buf[32];

	UNUSED(ctx);
	if (ROW(row)->uptime_s != UINT64_MAX)
		strbuf_addstr(out, units_format_uptime(ROW(row)->uptime_s, buf, sizeof(buf)));
}

static void col_container(struct strbuf *out, const void *row, const void *ctx)
{
	const struct list_row *r = row;

	UNUSED(ctx);
	strbuf_addstr(out, r->container_name ? r->container_name
			   : r->container    ? r->container
					     : "");
}

static void col_supported(struct strbuf *out, const void *row, const void *ctx)
{
	const struct list_row *r = row;

	UNUSED(ctx);
	strbuf_addstr(out, r->untested ? r->untested : r->supported ? "yes" : "no");
	if (r->stopped)
		strbuf_addstr(out, "; stopped (SIGSTOP)");
}

TABLE_VALUE(stripped, struct list_row, r->identified ? (double)r->stripped : NAN)
TABLE_VALUE(usdt, struct list_row, r->identified ? (double)r->usdt : NAN)

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct list_row, member)
#define SAME(member, title, type)	 FIELD(#member, title, type, member)

static const struct table_column columns[] = {
	{SAME(os_pid, "PID", ID)},
	{SAME(name, "NAME", TEXT)},
	{SAME(otp, "OTP", TEXT)},
	{SAME(erts, "ERTS", TEXT)},
	{SAME(flavor, "FLAVOR", TEXT)},
	{SAME(schedulers, "SCHED", COUNT)},
	{SAME(dirty_cpu_schedulers, "DIRTY CPU", COUNT), .hidden = true},
	{SAME(dirty_io_schedulers, "DIRTY IO", COUNT), .hidden = true},
	{SAME(process_count, "PROCESSES", COUNT)},
	{SAME(port_count, "PORTS", COUNT), .hidden = true},
	{SAME(atom_count, "ATOMS", COUNT), .hidden = true},
	{SAME(uptime_s, "UPTIME", COUNT), .text = col_uptime},
	{SAME(rss, "RSS", BYTES), .hidden = true},
	{SAME(exe, "EXECUTABLE", TEXT), .hidden = true},
	{SAME(container, "CONTAINER", TEXT), .text = col_container},
	{SAME(container_name, "CONTAINER NAME", TEXT), .hidden = true},
	{SAME(pod_uid, "POD UID", TEXT), .hidden = true},
	{TABLE_NUMBER("stripped", "STRIPPED", FLAG, stripped)},
	{TABLE_NUMBER("usdt", "USDT", FLAG, usdt)},
	{SAME(supported, "SUPPORTED", FLAG), .text = col_supported},
	{SAME(untested, "UNTESTED", TEXT), .hidden = true},
	{SAME(unsupported_reason, "WHY NOT", TEXT), .hidden = true},
	{SAME(stopped, "STOPPED", FLAG), .hidden = true},
	{0},
};

const struct table list_table = {.columns = columns, .row_size = sizeof(struct list_row)};
