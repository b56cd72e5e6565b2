/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A driver whose every callback can be made to be called an exact number of times.  It is loaded
 * by workloads/driver_zoo.erl.  The interface of drivers is declared here as far as it is used: it
 * is a binary interface that has not changed since OTP R15, and not every Erlang comes with its
 * header.
 *
 * control(command, n): 1 a timer; 2 something for an async thread; 3 busy; 4 not busy any more;
 * 5 monitor the caller; 6 put data into the queue, so that closing has to flush it; 7 a pipe,
 * select it and write to it; 8 deselect it; 9 a timer, in whose callback it sleeps for ten minutes,
 * and a scheduler with it; 10 a timer, whose callback sleeps for as many milliseconds as there are
 * bytes.  Whoever owns the port gets a byte from each callback; from that of 10 the nanoseconds of
 * the system's clock when it began and ended.
 */
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

struct port;
typedef size_t term;
struct iovec_of_driver {
	int vsize;
	size_t size;
};

extern void *driver_alloc(size_t);
extern void driver_free(void *);
extern int driver_output(struct port *, char *, size_t);
extern int driver_set_timer(struct port *, unsigned long);
extern long driver_async(struct port *, unsigned int *, void (*)(void *), void *, void (*)(void *));
extern void set_busy_port(struct port *, int);
extern term driver_caller(struct port *);
extern int driver_monitor_process(struct port *, term, void *);
extern int driver_enq(struct port *, char *, size_t);
extern size_t driver_deq(struct port *, size_t);
extern size_t driver_sizeq(struct port *);
extern int driver_select(struct port *, long, int, int);

#define READ  1
#define WRITE 2
#define USE   4

struct zoo {
	struct port *port;
	int fds[2];
	int hold;
	size_t last_ms;
	unsigned char monitor[64];
};

static int init(void)
{
	return 0;
}

static void *start(struct port *port, char *command)
{
	struct zoo *z = driver_alloc(sizeof(*z));

	(void)command;
	*z = (struct zoo){.port = port, .fds = {-1, -1}};
	return z;
}

static void stop(void *data)
{
	driver_free(data);
}

static void finish(void)
{
}

static void output(void *data, char *bytes, size_t len)
{
	driver_output(((struct zoo *)data)->port, bytes, len);
}

static void say(struct zoo *z, char what)
{
	driver_output(z->port, &what, 1);
}

static void ready_input(void *data, void *event)
{
	struct zoo *z = data;
	char c;

	if (read((int)(long)event, &c, 1) == 1)
		say(z, 'i');
}

static void ready_output(void *data, void *event)
{
	struct zoo *z = data;

	driver_select(z->port, (long)event, WRITE, 0);
	say(z, 'o');
}

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void last(struct zoo *z)
{
	const struct timespec time = {.tv_nsec = (long)z->last_ms * 1000000};
	char text[64];
	long begin = now();
	int len;

	nanosleep(&time, NULL);
	len = snprintf(text, sizeof(text), "%ld %ld", begin, now());
	driver_output(z->port, text, (size_t)len);
}

static void timeout(void *data)
{
	struct zoo *z = data;

	if (z->last_ms) {
		last(z);
		return;
	}
	if (z->hold)
		sleep(600);
	say(data, 't');
}

static void work(void *data)
{
	(void)data;
}

static void ready_async(void *data, void *done)
{
	(void)done;
	say(data, 'a');
}

static void process_exit(void *data, void *monitor)
{
	(void)monitor;
	say(data, 'x');
}

static void flush(void *data)
{
	struct zoo *z = data;

	driver_deq(z->port, driver_sizeq(z->port));
}

static void stop_select(void *event, void *reserved)
{
	(void)reserved;
	close((int)(long)event);
}

static void open_pipe(struct zoo *z)
{
	if (pipe(z->fds) != 0)
		return;
	driver_select(z->port, z->fds[0], READ | USE, 1);
	driver_select(z->port, z->fds[1], WRITE | USE, 1);
	if (write(z->fds[1], "x", 1) != 1)
		return;
}

static long control(void *data, unsigned int command, char *buf, size_t len, char **answer,
		    size_t answer_len)
{
	struct zoo *z = data;

	(void)buf;
	(void)answer;
	(void)answer_len;
	if (command == 1)
		driver_set_timer(z->port, 0);
	else if (command == 2)
		driver_async(z->port, NULL, work, z, NULL);
	else if (command == 3 || command == 4)
		set_busy_port(z->port, command == 3);
	else if (command == 5)
		driver_monitor_process(z->port, driver_caller(z->port), z->monitor);
	else if (command == 6)
		driver_enq(z->port, "queued", 6);
	else if (command == 7)
		open_pipe(z);
	else if (command == 10) {
		z->last_ms = len;
		driver_set_timer(z->port, 0);
	} else if (command == 9) {
		z->hold = 1;
		driver_set_timer(z->port, 300);
	} else if (command == 8) {
		driver_select(z->port, z->fds[0], READ | USE, 0);
		driver_select(z->port, z->fds[1], WRITE | USE, 0);
	}
	return 0;
}

/* The answer is a term in the external format: the command as a small integer. */
static long call(void *data, unsigned int command, char *buf, size_t len, char **answer,
		 size_t answer_len, unsigned int *flags)
{
	(void)data;
	(void)buf;
	(void)len;
	(void)flags;
	if (answer_len < 3)
		return -1;
	(*answer)[0] = (char)131;
	(*answer)[1] = 97;
	(*answer)[2] = (char)command;
	return 3;
}

struct entry {
	int (*init)(void);
	void *(*start)(struct port *, char *);
	void (*stop)(void *);
	void (*output)(void *, char *, size_t);
	void (*ready_input)(void *, void *);
	void (*ready_output)(void *, void *);
	const char *driver_name;
	void (*finish)(void);
	void *handle;
	long (*control)(void *, unsigned int, char *, size_t, char **, size_t);
	void (*timeout)(void *);
	void (*outputv)(void *, struct iovec_of_driver *);
	void (*ready_async)(void *, void *);
	void (*flush)(void *);
	long (*call)(void *, unsigned int, char *, size_t, char **, size_t, unsigned int *);
	void (*unused)(void);
	int extended_marker, major_version, minor_version, driver_flags;
	void *handle2;
	void (*process_exit)(void *, void *);
	void (*stop_select)(void *, void *);
	void (*emergency_close)(void *);
};

struct entry *driver_init(void);
struct entry *driver_init(void)
{
	static struct entry entry = {
		.init = init,
		.start = start,
		.stop = stop,
		.output = output,
		.ready_input = ready_input,
		.ready_output = ready_output,
		.driver_name = "zoo_drv",
		.finish = finish,
		.control = control,
		.timeout = timeout,
		.ready_async = ready_async,
		.flush = flush,
		.call = call,
		.extended_marker = (int)0xfeeeeeed,
		.major_version = 3,
		.minor_version = 0,
		.process_exit = process_exit,
		.stop_select = stop_select,
	};

	return &entry;
}
