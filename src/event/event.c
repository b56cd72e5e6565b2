/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes -> event (see event.h).  The bytes come from a ring buffer or a file: they are not
 * trusted, and need not be aligned.  Ids are checked by the dictionary. */
#include "base/compiler.h"
#include "event/event.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "names/names.h"

/* Copies the fixed part of a record: 0, or -EINVAL if the record is shorter than that. */
#define COPY_RECORD(rec, bytes, size)                                                              \
	((size) < sizeof(*(rec)) ? -EINVAL : (memcpy((rec), (bytes), sizeof(*(rec))), 0))

static int decode_meta(struct event *ev, const char *bytes, size_t size)
{
	struct rec_meta rec;

	if (COPY_RECORD(&rec, bytes, size))
		return -EINVAL;
	if ((uint64_t)rec.key_size + rec.value_size > size - sizeof(rec))
		return -EINVAL;
	ev->u.meta.key = bytes + sizeof(rec);
	ev->u.meta.key_len = rec.key_size;
	ev->u.meta.value = ev->u.meta.key + rec.key_size;
	ev->u.meta.value_len = rec.value_size;
	return 0;
}

static int decode_string(struct event *ev, const char *bytes, size_t size)
{
	struct rec_string rec;

	if (COPY_RECORD(&rec, bytes, size) || rec.string_size > size - sizeof(rec))
		return -EINVAL;
	ev->u.string.id = rec.id;
	ev->u.string.s = bytes + sizeof(rec);
	ev->u.string.len = rec.string_size;
	return 0;
}

static int decode_function(struct event *ev, const char *bytes, size_t size)
{
	struct rec_function rec;

	if (COPY_RECORD(&rec, bytes, size) || rec.kind > FRAME_STATE || rec.arity < -1 ||
	    rec.symbol_source >= NR_SYMBOL_SOURCES)
		return -EINVAL;
	ev->u.function.id = rec.id;
	ev->u.function.module = rec.module;
	ev->u.function.name = rec.name;
	ev->u.function.arity = rec.arity;
	ev->u.function.kind = rec.kind;
	ev->u.function.symbol_source = rec.symbol_source;
	return 0;
}

static int decode_frame(struct event *ev, const char *bytes, size_t size)
{
	struct rec_frame rec;

	if (COPY_RECORD(&rec, bytes, size))
		return -EINVAL;
	ev->u.frame.id = rec.id;
	ev->u.frame.function = rec.function;
	ev->u.frame.file = rec.file;
	ev->u.frame.line = rec.line;
	return 0;
}

static int decode_stack(struct event *ev, const char *bytes, size_t size)
{
	struct rec_stack rec;

	if (COPY_RECORD(&rec, bytes, size))
		return -EINVAL;
	ev->u.stack.id = rec.id;
	ev->u.stack.parent = rec.parent;
	ev->u.stack.frame = rec.frame;
	return 0;
}

static int decode_process(struct event *ev, const char *bytes, size_t size)
{
	struct rec_process rec;

	if (COPY_RECORD(&rec, bytes, size))
		return -EINVAL;
	ev->u.process.id = rec.id;
	ev->u.process.pid = rec.pid;
	ev->u.process.registered = rec.registered;
	ev->u.process.label = rec.label;
	ev->u.process.initial_call = rec.initial_call;
	ev->u.process.epid = rec.epid;
	return 0;
}

static int decode_thread(struct event *ev, const char *bytes, size_t size)
{
	struct rec_thread rec;

	if (COPY_RECORD(&rec, bytes, size) || rec.type > THREAD_OTHER)
		return -EINVAL;
	ev->u.thread.id = rec.id;
	ev->u.thread.os_tid = rec.os_tid;
	ev->u.thread.type = rec.type;
	ev->u.thread.scheduler = rec.scheduler;
	ev->u.thread.name = rec.name;
	return 0;
}

static int decode_sample(struct event *ev, const char *bytes, size_t size)
{
	struct rec_sample rec;

	if (COPY_RECORD(&rec, bytes, size) || rec.kind >= NR_SAMPLE_KINDS ||
	    rec.status >= NR_SAMPLE_STATUSES || (!rec.weight && !rec.weight_high))
		return -EINVAL;
	ev->u.sample.process = rec.process;
	ev->u.sample.stack = rec.stack;
	ev->u.sample.thread = rec.thread;
	ev->u.sample.weight = rec.weight | (uint64_t)rec.weight_high << 32;
	ev->u.sample.kind = (enum sample_kind)rec.kind;
	ev->u.sample.status = (enum sample_status)rec.status;
	return 0;
}

static int decode_counter(struct event *ev, const char *bytes, size_t size)
{
	struct rec_counter rec;

	if (COPY_RECORD(&rec, bytes, size))
		return -EINVAL;
	ev->u.counter.name = rec.name;
	ev->u.counter.value = rec.value;
	return 0;
}

static int decode_vm(struct event *ev, const char *bytes, size_t size)
{
	struct rec_event rec;
	size_t nr;

	if (COPY_RECORD(&rec, bytes, size) || rec.status >= NR_SAMPLE_STATUSES ||
	    rec.nr_values > (size - sizeof(rec)) / sizeof(rec.values[0]))
		return -EINVAL;
	nr = rec.nr_values < EVENT_MAX_FIELDS ? rec.nr_values : EVENT_MAX_FIELDS;
	ev->u.vm.kind = rec.kind;
	ev->u.vm.process = rec.process;
	ev->u.vm.thread = rec.thread;
	ev->u.vm.stack = rec.stack;
	ev->u.vm.cpu = rec.cpu;
	ev->u.vm.status = (enum sample_status)rec.status;
	ev->u.vm.nr_values = (unsigned int)nr;
	memcpy(ev->u.vm.values, bytes + sizeof(rec), nr * sizeof(rec.values[0]));
	return 0;
}

static int decode_coverage(struct event *ev, const char *bytes, size_t size)
{
	struct rec_coverage rec = {0};

	/* Records of earlier versions end before `work`. */
	if (size < offsetof(struct rec_coverage, work))
		return -EINVAL;
	memcpy(&rec, bytes, MIN(size, sizeof(rec)));
	if (rec.state >= NR_COVERAGE_STATES || rec.share_ppm > 1000000)
		return -EINVAL;
	ev->u.coverage.kind = rec.kind;
	ev->u.coverage.state = (enum coverage_state)rec.state;
	ev->u.coverage.share_ppm = rec.share_ppm;
	ev->u.coverage.os_tid = rec.os_tid;
	ev->u.coverage.work = rec.work;
	ev->u.coverage.missed = rec.missed;
	return 0;
}

static bool is_part(uint64_t ns, uint64_t of)
{
	return ns <= of || ns == SCHEDULER_UNKNOWN;
}

static int decode_scheduler(struct event *ev, const char *bytes, size_t size)
{
	/* Records of earlier versions end before gc_samples. */
	const size_t least = offsetof(struct rec_scheduler, gc_samples);
	struct rec_scheduler rec = {0};

	if (size < least)
		return -EINVAL;
	memcpy(&rec, bytes, MIN(size, sizeof(rec)));
	if (rec.type < THREAD_NORMAL || rec.type > THREAD_DIRTY_IO || !rec.number ||
	    rec.number > UINT16_MAX || rec.duration_ns > rec.h.ts_ns ||
	    !is_part(rec.working_ns, rec.duration_ns) || !is_part(rec.on_cpu_ns, rec.duration_ns) ||
	    !is_part(rec.cpu_wait_ns, rec.duration_ns) || rec.working > rec.samples ||
	    rec.process > rec.working || rec.port > rec.working - rec.process ||
	    rec.gc_samples > rec.samples || rec.gc > rec.gc_samples)
		return -EINVAL;
	ev->u.scheduler.type = (enum thread_type)rec.type;
	ev->u.scheduler.number = (uint16_t)rec.number;
	ev->u.scheduler.duration_ns = rec.duration_ns;
	ev->u.scheduler.working_ns = rec.working_ns;
	ev->u.scheduler.on_cpu_ns = rec.on_cpu_ns;
	ev->u.scheduler.cpu_wait_ns = rec.cpu_wait_ns;
	ev->u.scheduler.samples = rec.samples;
	ev->u.scheduler.working = rec.working;
	ev->u.scheduler.process = rec.process;
	ev->u.scheduler.port = rec.port;
	ev->u.scheduler.gc_samples = rec.gc_samples;
	ev->u.scheduler.gc = rec.gc;
	ev->u.scheduler.offline = rec.offline == 1;
	return 0;
}

static int decode_call(struct event *ev, const char *bytes, size_t size)
{
	struct rec_call rec;
	const char *text;
	uint32_t at = 0, len, nr = 0;

	if (COPY_RECORD(&rec, bytes, size) || rec.kind >= NR_CALL_KINDS ||
	    rec.status >= NR_SAMPLE_STATUSES || rec.text_size > size - sizeof(rec))
		return -EINVAL;
	ev->u.call.kind = (enum call_kind)rec.kind;
	ev->u.call.process = rec.process;
	ev->u.call.thread = rec.thread;
	ev->u.call.function = rec.function;
	ev->u.call.caller = rec.caller;
	ev->u.call.cpu = rec.cpu;
	ev->u.call.flags = rec.flags;
	ev->u.call.nr_terms = rec.nr_terms;
	ev->u.call.shape = rec.shape;
	ev->u.call.stack = rec.stack;
	ev->u.call.status = rec.status;
	ev->u.call.slice = (uint32_t)rec.slice_high << 16 | rec.slice;
	ev->u.call.height = rec.height;
	ev->u.call.site = rec.site;
	ev->u.call.terms = bytes + sizeof(rec);
	ev->u.call.terms_size = rec.text_size;
	while (event_call_term(ev, &at, &text, &len))
		nr++;
	return nr == rec.nr_terms && at == rec.text_size ? 0 : -EINVAL;
}

bool event_is_meta(const struct event *ev, const char *key)
{
	return ev->type == REC_META && ev->u.meta.key_len == strlen(key) &&
	       memcmp(ev->u.meta.key, key, ev->u.meta.key_len) == 0;
}

bool event_call_term(const struct event *ev, uint32_t *at, const char **text, uint32_t *len)
{
	uint32_t size = ev->u.call.terms_size;

	if (*at > size || size - *at < sizeof(*len))
		return false;
	memcpy(len, ev->u.call.terms + *at, sizeof(*len));
	if (*len > size - *at - sizeof(*len))
		return false;
	*text = ev->u.call.terms + *at + sizeof(*len);
	*at += (uint32_t)sizeof(*len) + *len;
	return true;
}

static int decode_body(struct event *ev, const char *bytes, size_t size)
{
	switch (ev->type) {
	case REC_META:
		return decode_meta(ev, bytes, size);
	case REC_STRING:
		return decode_string(ev, bytes, size);
	case REC_FUNCTION:
		return decode_function(ev, bytes, size);
	case REC_FRAME:
		return decode_frame(ev, bytes, size);
	case REC_STACK:
		return decode_stack(ev, bytes, size);
	case REC_PROCESS:
		return decode_process(ev, bytes, size);
	case REC_THREAD:
		return decode_thread(ev, bytes, size);
	case REC_SAMPLE:
		return decode_sample(ev, bytes, size);
	case REC_COUNTER:
		return decode_counter(ev, bytes, size);
	case REC_EVENT:
		return decode_vm(ev, bytes, size);
	case REC_COVERAGE:
		return decode_coverage(ev, bytes, size);
	case REC_CALL:
		return decode_call(ev, bytes, size);
	case REC_SCHEDULER:
		return decode_scheduler(ev, bytes, size);
	case REC_RAW_CALL:
	case REC_RAW_SAMPLE:
	case REC_RAW_PROCESS:
	case REC_RAW_CODE:
	case REC_RAW_CSTACK:
	case REC_RAW_GAP:
	case REC_RAW_OFF_CPU:
	case REC_RAW_EVENT:
	case REC_RAW_COVERAGE:
	case REC_END:
		break;
	}
	return 0;
}

int event_decode(struct event *ev, const void *bytes, size_t size)
{
	struct rec_header h;
	int ret;

	memset(ev, 0, sizeof(*ev));
	if (size < sizeof(h))
		return -EAGAIN;
	memcpy(&h, bytes, sizeof(h));
	if (h.size < sizeof(h) || h.size % 8 || h.size > EBEAM_MAX_RECORD_SIZE)
		return -EINVAL;
	if (h.size > size)
		return -EAGAIN;
	ev->type = (enum rec_type)h.type;
	ev->ts_ns = h.ts_ns;
	ret = decode_body(ev, bytes, h.size);
	return ret ? ret : (int)h.size;
}

int event_define(struct names *n, const struct event *ev)
{
	int rc;

	switch (ev->type) {
	case REC_STRING:
		rc = names_define_string(n, ev->u.string.id, ev->u.string.s, ev->u.string.len);
		break;
	case REC_FUNCTION:
		rc = names_define_function(n, ev->u.function.id, ev->u.function.module,
					   ev->u.function.name, ev->u.function.arity,
					   ev->u.function.kind);
		if (rc == 0)
			names_set_symbol_source(n, ev->u.function.id,
						(enum symbol_source)ev->u.function.symbol_source);
		break;
	case REC_FRAME:
		rc = names_define_frame(n, ev->u.frame.id, ev->u.frame.function, ev->u.frame.file,
					ev->u.frame.line);
		break;
	case REC_STACK:
		rc = names_define_stack(n, ev->u.stack.id, ev->u.stack.parent, ev->u.stack.frame);
		break;
	case REC_PROCESS:
		rc = names_define_process(n, ev->u.process.id, ev->u.process.epid,
					  ev->u.process.pid, ev->u.process.registered,
					  ev->u.process.label, ev->u.process.initial_call);
		break;
	case REC_THREAD:
		rc = names_define_thread(n, ev->u.thread.id, ev->u.thread.os_tid, ev->u.thread.type,
					 ev->u.thread.scheduler, ev->u.thread.name);
		break;
	default:
		return 0;
	}
	return rc < 0 ? rc : 1;
}
