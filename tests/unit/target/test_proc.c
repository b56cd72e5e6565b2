/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /proc of one process: the text parsers on texts of real systems and on damaged ones, the readers
 * on this process, its threads and its children.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "target/proc.h"

#define POD   "1a2b3c4d-0000-1111-2222-333344445555"
#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* ---- maps --------------------------------------------------------------------------------- */

static const char maps_text[] =
	"557f65429000-557f655a1000 r-xp 0002b000 fe:01 1057023                    "
	"/usr/lib/erlang/erts-13.1.5/bin/beam.smp\n"
	"557f65800000-557f65801000 rw-p 00000000 00:00 0 \n"
	"557f66000000-557f66100000 rw-p 00000000 00:00 0                          [heap]\n"
	"7fb35fc00000-7fb363c00000 r-xs 00000000 00:01 1025                       "
	"/memfd:vmem (deleted)\n"
	"7fb3a1000000-7fb3a1001000 r--p 00000000 103:02 18446744073709551615      "
	"/opt/my app/lib (deleted)/x.so\n"
	"7fb3a2281000-7fb3a2283000 r-xp 00000000 00:00 0                          [vdso]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

static void maps_of_a_node(void **state)
{
	struct proc_maps maps;
	const struct proc_map *m;

	UNUSED(state);
	assert_int_equal(proc_maps_parse(&maps, maps_text, strlen(maps_text)), 0);
	assert_int_equal(maps.len, 7);
	m = &maps.data[0];
	assert_int_equal(m->start, 0x557f65429000);
	assert_int_equal(m->end, 0x557f655a1000);
	assert_int_equal(m->offset, 0x2b000);
	assert_int_equal(m->inode, 1057023);
	assert_int_equal(m->dev_major, 0xfe);
	assert_int_equal(m->dev_minor, 1);
	assert_true(m->r && !m->w && m->x && !m->shared && !m->deleted);
	assert_string_equal(m->path, "/usr/lib/erlang/erts-13.1.5/bin/beam.smp");
	assert_string_equal(maps.data[1].path, "");
	assert_true(maps.data[1].w && !maps.data[1].x);
	assert_string_equal(maps.data[2].path, "[heap]");
	assert_string_equal(maps.data[3].path, "/memfd:vmem");
	assert_true(maps.data[3].deleted && maps.data[3].shared && maps.data[3].x);
	assert_string_equal(maps.data[4].path, "/opt/my app/lib (deleted)/x.so");
	assert_false(maps.data[4].deleted);
	assert_int_equal(maps.data[4].inode, UINT64_MAX);
	assert_int_equal(maps.data[4].dev_major, 0x103);
	assert_false(maps.data[6].r);

	assert_ptr_equal(proc_maps_find(&maps, 0x557f65429000), &maps.data[0]);
	assert_ptr_equal(proc_maps_find(&maps, 0x557f655a0fff), &maps.data[0]);
	assert_null(proc_maps_find(&maps, 0x557f655a1000));
	assert_null(proc_maps_find(&maps, 0x557f65428fff));
	assert_null(proc_maps_find(&maps, 0));
	assert_null(proc_maps_find(&maps, UINT64_MAX));
	assert_ptr_equal(proc_maps_find(&maps, 0xffffffffff600fff), &maps.data[6]);
	proc_maps_free(&maps);
	assert_null(proc_maps_find(&maps, 0x557f65429000));
	proc_maps_free(&maps);
}

/* The kernel resumes the file at an address: a mapping that grew meanwhile comes twice. */
static void maps_that_changed_while_read(void **state)
{
	static const char text[] = "1000-3000 r--p 00000000 00:00 0 a\n"
				   "3000-5000 r--p 00000000 00:00 0 b\n"
				   "4000-6000 r--p 00000000 00:00 0 c\n"
				   "4000-8000 r--p 00000000 00:00 0 d\n"
				   "9000-a000 r--p 00000000 00:00 0 e\n"
				   "2000-9800 r--p 00000000 00:00 0 f\n";
	struct proc_maps maps;

	UNUSED(state);
	assert_int_equal(proc_maps_parse(&maps, text, strlen(text) - strlen(strstr(text, "9000-"))),
			 0);
	assert_int_equal(maps.len, 3);
	assert_string_equal(proc_maps_find(&maps, 0x3fff)->path, "b");
	assert_string_equal(proc_maps_find(&maps, 0x4000)->path, "d");
	assert_string_equal(proc_maps_find(&maps, 0x7fff)->path, "d");
	proc_maps_free(&maps);
	assert_int_equal(proc_maps_parse(&maps, text, strlen(text)), 0);
	assert_int_equal(maps.len, 2);
	assert_string_equal(maps.data[1].path, "f");
	assert_int_equal(maps.data[0].end, 0x2000);
	proc_maps_free(&maps);
}

static void maps_that_are_no_maps(void **state)
{
	static const char *const bad[] = {
		"x\n",
		"\n",
		"1000-1000 r--p 0 00:00 0\n",				/* empty */
		"2000-1000 r--p 0 00:00 0\n",				/* backwards */
		"1000-2000 rwx 0 00:00 0\n",				/* three letters */
		"1000-2000 r-zp 0 00:00 0\n",				/* no such letter */
		"1000 2000 r--p 0 00:00 0\n",				/* no dash */
		"10000000000000000-20000000000000000 r--p 0 00:00 0\n", /* beyond 64 bits */
		"1000-2000 r--p 0 00:00 18446744073709551616\n",	/* inode beyond 64 bits */
		"1000-2000 r--p 0 100000000:00 0\n",			/* device beyond 32 bits */
		"1000-2000 r--p 0 00:00 5x /bin/ls\n",
		"1000-2000 r--p 0 00:00 \n",
		" 1000-2000 r--p 0 00:00 0\n",
		"-1000-2000 r--p 0 00:00 0\n",
		"1000-2000 r--p 0 00:00 0\nrubbish\n", /* a good line first */
	};
	struct proc_maps maps;

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(proc_maps_parse(&maps, bad[i], strlen(bad[i])), -EINVAL);
		assert_int_equal(maps.len, 0);
		assert_null(maps.data);
	}
	assert_int_equal(proc_maps_parse(&maps, "", 0), 0);
	assert_int_equal(maps.len, 0);
}

static void maps_cut_at_every_length(void **state)
{
	size_t nr_ok = 0;

	UNUSED(state);
	for (size_t len = 0; len < sizeof(maps_text); len++) {
		char *exact = malloc(len ? len : 1); /* so that ASan sees reads past the end */
		struct proc_maps maps;
		int code;

		memcpy(exact, maps_text, len);
		code = proc_maps_parse(&maps, exact, len);
		assert_true(code == 0 || code == -EINVAL);
		for (size_t i = 1; i < maps.len; i++)
			assert_true(maps.data[i - 1].end <= maps.data[i].start);
		nr_ok += code == 0;
		proc_maps_free(&maps);
		free(exact);
	}
	assert_true(nr_ok > 100 && nr_ok < sizeof(maps_text));
}

static void maps_of_this_process(void **state)
{
	struct error err = {0};
	struct proc_maps maps;
	const struct proc_map *m;
	char exe[PATH_MAX];
	int local;

	UNUSED(state);
	assert_int_equal(proc_maps_read(&maps, getpid(), &err), 0);
	m = proc_maps_find(&maps, (raddr)(uintptr_t)maps_of_this_process);
	assert_non_null(m);
	assert_true(m->r && m->x && !m->w);
	assert_int_equal(proc_exe(getpid(), exe, sizeof(exe), NULL), 0);
	assert_string_equal(m->path, exe);
	m = proc_maps_find(&maps, (raddr)(uintptr_t)&local);
	assert_non_null(m);
	assert_true(m->r && m->w && !m->x);
	proc_maps_free(&maps);
}

/* ---- containers --------------------------------------------------------------------------- */

static void containers_by_cgroup(void **state)
{
	static const struct {
		const char *text, *id;
	} cases[] = {
		{"0::/\n", ""},
		{"", ""},
		{"0::/user.slice/user-1000.slice/session-2.scope\n", ""},
		{"0::/system.slice/rabbitmq-server.service\n", ""},
		/* docker */
		{"0::/system.slice/docker-" HEX64 ".scope\n", "0123456789ab"},
		{"0::/docker/" HEX64 "\n", "0123456789ab"},
		{"12:pids:/docker/" HEX64 "\n11:cpu,cpuacct:/docker/" HEX64 "\n0::/\n",
		 "0123456789ab"},
		{"2:cpuset:/\n1:name=systemd:/docker/" HEX64 "\n", "0123456789ab"},
		/* podman, its monitor, and systemd inside of it */
		{"0::/machine.slice/libpod-" HEX64 ".scope/container\n", "0123456789ab"},
		{"0::/machine.slice/libpod-" HEX64 ".scope/system.slice/x.service", "0123456789ab"},
		{"0::/machine.slice/libpod-conmon-" HEX64 ".scope\n", ""},
		{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" HEX64
		 ".scope/container\n",
		 "0123456789ab"},
		/* kubernetes with containerd, cri-o, cgroupfs */
		{"0::/kubepods.slice/kubepods-burstable.slice/"
		 "kubepods-burstable-pod1a2b3c4d_0000_1111_2222_333344445555.slice/"
		 "cri-containerd-" HEX64 ".scope\n",
		 "0123456789ab"},
		{"0::/kubepods.slice/kubepods-pod1a2b.slice/crio-" HEX64 ".scope/container\n",
		 "0123456789ab"},
		{"0::/kubepods.slice/kubepods-pod1a2b.slice/crio-conmon-" HEX64 ".scope\n", ""},
		{"4:memory:/kubepods/besteffort/pod1a2b3c4d-0000-1111-2222-333344445555/" HEX64
		 "\n",
		 "0123456789ab"},
		{"4:memory:/system.slice/containerd.service/kubepods-burstable-pod1a.slice:"
		 "cri-containerd:" HEX64 "\n",
		 "0123456789ab"},
		{"0::/default/" HEX64 "\n", "0123456789ab"}, /* ctr */
		/* a container in a container: the inner one */
		{"0::/docker/ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
		 "/kubepods/pod1a2b/" HEX64 "\n",
		 "0123456789ab"},
		{"0::/docker/" HEX64 "/lxc/web-1\n", "web-1"},
		/* lxc */
		{"0::/lxc.payload.web-1/system.slice/x.service\n", "web-1"},
		{"0::/lxc/web-1/init.scope\n", "web-1"},
		{"0::/lxc.payload/web-1\n", "web-1"},
		{"0::/lxc.monitor.web-1\n", ""},
		{"0::/lxc\n", ""},
		/* nspawn */
		{"0::/machine.slice/systemd-nspawn@deb\\x2d12.service/payload/x\n", "deb-12"},
		{"0::/machine.slice/machine-my\\x2dbox.scope/payload\n", "my-box"},
		{"0::/machine.slice/machine-odd\\x2.scope\n", "odd\\x2"},
		{"0::/machine.slice/machine-odd\\xzz.scope\n", "odd\\xzz"},
		{"0::/machine.slice\n", ""},
		/* not quite an id */
		{"0::/docker/0123456789abcdef\n", ""},
		{"0::/docker/" HEX64 "0\n", ""},
		{"0::/docker/x" HEX64 "\n", ""},
		{"0::/docker/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", ""},
		{"no colons " HEX64, ""},
		{"one:/" HEX64, ""},
		{":::::///", ""},
	};
	struct proc_container c;

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(&c, 'x', sizeof(c));
		proc_container_parse(&c, cases[i].text);
		assert_string_equal(c.id, cases[i].id);
		assert_string_equal(c.name, "");
	}
	proc_container_parse(&c, "0::/docker/" HEX64 "\n");
	assert_string_equal(c.long_id, HEX64);
	proc_container(&c, INT_MAX); /* no such process */
	assert_string_equal(c.id, "");
}

static void pods_by_cgroup(void **state)
{
	struct proc_container c;

	UNUSED(state);
	proc_container_parse(&c, "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
				 "pod1a2b3c4d_0000_1111_2222_333344445555.slice/"
				 "cri-containerd-" HEX64 ".scope\n");
	assert_string_equal(c.pod, POD);
	proc_container_parse(&c, "0::/kubepods/besteffort/pod" POD "/" HEX64 "\n");
	assert_string_equal(c.pod, POD);
	/* no container, and no whole UID */
	proc_container_parse(&c, "0::/kubepods/besteffort/pod" POD "\n");
	assert_string_equal(c.pod, "");
	proc_container_parse(&c, "0::/kubepods/pod1a2b3c4d-0000/" HEX64 "\n");
	assert_string_equal(c.pod, "");
}

/* A file below `root`, with the directories that it needs. */
static void put(const char *root, const char *path, const char *text)
{
	char whole[512];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(whole, 0700);
		*slash = '/';
	}
	f = fopen(whole, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void names_of_containers(void **state)
{
	static const struct {
		const char *path, *text;
	} files[] = {
		{"/var/lib/containers/storage/overlay-containers/containers.json",
		 "[{\"id\":\"ff\",\"names\":[\"x\"]},"
		 "{\"id\":\"" HEX64 "\",\"names\":[\"of_podman\"]}]"},
		{"/run/containers/storage/overlay-containers/" HEX64 "/userdata/config.json",
		 "{\"annotations\":{\"io.kubernetes.container.name\":\"of_crio\"}}"},
		{"/run/containerd/io.containerd.runtime.v2.task/k8s.io/" HEX64 "/config.json",
		 "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"of_cri\"}}"},
		{"/var/lib/docker/containers/" HEX64 "/config.v2.json",
		 "{\"Name\":\"/of_docker\"}"},
		{"/var/lib/docker/containers/" HEX64 "/config.v2.json", "{\"Name\":[1]}"},
		{"/var/lib/docker/containers/" HEX64 "/config.v2.json", "{\"Na"},
	};
	static const char *const names[] = {"of_podman", "of_crio", "of_cri",
					    "of_docker", "of_cri",  "of_cri"};
	char root[] = "/tmp/ebeam-test-XXXXXX", command[64];
	struct proc_container c;

	UNUSED(state);
	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		put(root, files[i].path, files[i].text);
		proc_container_parse(&c, "0::/docker/" HEX64 "\n");
		proc_container_find_name(&c, root);
		assert_string_equal(c.name, names[i]);
	}
	proc_container_parse(&c, "0::/docker/" HEX64 "/lxc/web-1\n");
	proc_container_find_name(&c, root);
	assert_string_equal(c.name, "");
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

/* ---- stat, threads, the rest --------------------------------------------------------------- */

static void stat_with_odd_names(void **state)
{
	struct proc_stat st;
	static const char tail[] = " S 1 2 3 0 -1 4194304 5 6 7 8 91 92 0 0 20 0 24 0 123456 7 8 "
				   "18446744073709551615 94080000000000 94080000001234 0 0";
	char text[256];

	UNUSED(state);
	snprintf(text, sizeof(text), "4711 (beam.smp)%s\n", tail);
	assert_int_equal(proc_stat_parse(&st, text), 0);
	assert_string_equal(st.comm, "beam.smp");
	assert_int_equal(st.state, 'S');
	assert_int_equal(st.utime_ticks, 91);
	assert_int_equal(st.stime_ticks, 92);
	assert_int_equal(st.start_ticks, 123456);
	assert_int_equal(st.rss, 8 * (uint64_t)sysconf(_SC_PAGESIZE));
	assert_int_equal(st.start_code, 94080000000000);
	assert_false(st.kernel_thread);
	assert_int_equal(proc_stat_parse(&st, "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 9 0 0 "
					      "20 0 1 0 17 0 0"),
			 0);
	assert_true(st.kernel_thread);
	snprintf(text, sizeof(text), "4711 (a) R (b c)%s\n", tail);
	assert_int_equal(proc_stat_parse(&st, text), 0);
	assert_string_equal(st.comm, "a) R (b c");
	assert_int_equal(st.state, 'S');
	snprintf(text, sizeof(text), "4711 (%0100d)%s\n", 7, tail);
	assert_int_equal(proc_stat_parse(&st, text), 0);
	assert_int_equal(strlen(st.comm), sizeof(st.comm) - 1);
	snprintf(text, sizeof(text), "4711 ()%s\n", tail);
	assert_int_equal(proc_stat_parse(&st, text), 0);
	assert_string_equal(st.comm, "");
	assert_int_equal(proc_stat_parse(&st, "1 (x) S 1 2 3 0 -1 4 5 6 7 8 9 9 0 0 20 0 2 0 77"),
			 0);
	assert_int_equal(st.start_ticks, 77);
	assert_int_equal(st.start_code, 0);
	assert_int_equal(proc_stat_parse(&st, ""), -EINVAL);
	assert_int_equal(proc_stat_parse(&st, ")("), -EINVAL);
	assert_int_equal(proc_stat_parse(&st, "1 (x) S 1 2 3"), -EINVAL);
	assert_int_equal(proc_stat_parse(&st, "1 (x"), -EINVAL);
}

struct sleeper {
	int os_tid;
	int ready[2], quit[2];
};

static void *sleeper_run(void *arg)
{
	struct sleeper *s = arg;
	char byte = 0;

	prctl(PR_SET_NAME, "12_scheduler\n()");
	s->os_tid = gettid();
	if (write(s->ready[1], &byte, 1) != 1 || read(s->quit[0], &byte, 1) < 0)
		abort();
	return NULL;
}

static void threads_with_names(void **state)
{
	struct sleeper s = {0};
	struct proc_thread *threads = NULL;
	struct error err = {0};
	pthread_t thread;
	bool found_self = false, found_other = false;
	ssize_t nr;
	char byte;

	UNUSED(state);
	assert_int_equal(pipe(s.ready), 0);
	assert_int_equal(pipe(s.quit), 0);
	assert_int_equal(pthread_create(&thread, NULL, sleeper_run, &s), 0);
	assert_int_equal(read(s.ready[0], &byte, 1), 1);
	nr = proc_threads_read(&threads, getpid(), &err);
	assert_true(nr >= 2);
	for (ssize_t i = 0; i < nr; i++) {
		found_self |= threads[i].os_tid == getpid();
		if (threads[i].os_tid == s.os_tid) {
			found_other = true;
			assert_string_equal(threads[i].name, "12_scheduler");
		}
	}
	assert_true(found_self && found_other);
	free(threads);
	assert_int_equal(write(s.quit[1], &byte, 1), 1);
	pthread_join(thread, NULL);
	assert_int_equal(proc_threads_read(&threads, INT_MAX, &err), -ESRCH);
	assert_int_equal(err.kind, ERROR_KIND_NO_NODE);
	for (int i = 0; i < 2; i++) {
		close(s.ready[i]);
		close(s.quit[i]);
	}
}

static void this_process(void **state)
{
	struct proc_stat st;
	struct error err = {0};
	bool found = false;
	int *pids = NULL;
	ssize_t nr;
	int64_t uptime;

	UNUSED(state);
	prctl(PR_SET_NAME, "test (proc) ) S");
	assert_int_equal(proc_stat_read(&st, getpid(), &err), 0);
	assert_string_equal(st.comm, "test (proc) ) S");
	assert_int_equal(st.state, 'R');
	uptime = proc_uptime_s(getpid());
	assert_true(uptime >= 0 && uptime < 3600);
	assert_true(proc_uptime_s(1) >= uptime);
	nr = proc_list(&pids, &err);
	assert_true(nr > 0);
	for (ssize_t i = 0; i < nr; i++)
		found |= pids[i] == getpid();
	assert_true(found);
	free(pids);
	assert_int_equal(proc_stat_read(&st, INT_MAX, &err), -ESRCH);
	assert_int_equal(err.kind, ERROR_KIND_NO_NODE);
	assert_true(proc_uptime_s(INT_MAX) < 0);
}

static void whole_files(void **state)
{
	char path[] = "/tmp/ebeam-test-XXXXXX";
	int fd = mkstemp(path);
	size_t len = 99;
	char *text;

	UNUSED(state);
	assert_true(fd >= 0);
	assert_non_null(text = proc_read_file(100, &len, "%s", path)); /* empty */
	assert_int_equal(len, 0);
	assert_string_equal(text, "");
	free(text);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(write(fd, "0123456789", 10), 10);
	close(fd);
	assert_non_null(text = proc_read_file(10000, &len, "%s", path)); /* exactly at the limit */
	assert_int_equal(len, 10000);
	assert_int_equal(strlen(text), 10000);
	free(text);
	assert_non_null(text = proc_read_file(1 << 20, NULL, "%s", path));
	assert_int_equal(strlen(text), 10000);
	free(text);
	assert_null(proc_read_file(9999, NULL, "%s", path));
	assert_int_equal(errno, EFBIG);
	assert_null(proc_read_file(0, NULL, "%s", path));
	assert_int_equal(errno, EFBIG);
	unlink(path);
	assert_null(proc_read_file(10, NULL, "%s", path));
	assert_int_equal(errno, ENOENT);
	assert_null(proc_read_file(10, NULL, "/proc"));
	assert_int_equal(errno, EISDIR);
}

/* Copies the running sleep(1) away, so that its file can be deleted under it. */
static void executable_that_was_deleted(void **state)
{
	char dir[] = "/tmp/ebeam-test-XXXXXX", path[64], exe[PATH_MAX], command[160];
	bool deleted = true;
	pid_t pid;
	int ready[2];
	char byte;

	UNUSED(state);
	assert_int_equal(proc_exe(getpid(), exe, sizeof(exe), &deleted), 0);
	assert_false(deleted);
	assert_int_equal(proc_exe(getpid(), exe, 4, NULL), -ENAMETOOLONG);
	assert_int_equal(proc_exe(INT_MAX, exe, sizeof(exe), NULL), -ENOENT);
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sleeper", dir);
	snprintf(command, sizeof(command), "cp \"$(command -v sleep)\" %s", path);
	assert_int_equal(system(command), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		execl(path, path, "60", (char *)NULL);
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 0); /* closed by the exec */
	close(ready[0]);
	unlink(path);
	rmdir(dir);
	assert_int_equal(proc_exe(pid, exe, sizeof(exe), &deleted), 0);
	assert_true(deleted);
	assert_string_equal(exe, path);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void *inner_thread(void *arg)
{
	int *out = arg;

	out[0] = gettid();
	out[1] = proc_thread_of_inner(getpid(), gettid());
	return NULL;
}

/* One that has ended is not the same as one that cannot be asked for. */
static void threads_of_a_namespace(void **state)
{
	int tids[2] = {0};
	pthread_t thread;

	UNUSED(state);
	assert_int_equal(pthread_create(&thread, NULL, inner_thread, tids), 0);
	pthread_join(thread, NULL);
	assert_int_equal(tids[0], tids[1]);
	assert_int_equal(proc_thread_of_inner(getpid(), INT_MAX), 0);
	assert_int_equal(proc_thread_of_inner(INT_MAX, 1), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_of_a_node),
		cmocka_unit_test(maps_that_changed_while_read),
		cmocka_unit_test(maps_that_are_no_maps),
		cmocka_unit_test(maps_cut_at_every_length),
		cmocka_unit_test(maps_of_this_process),
		cmocka_unit_test(containers_by_cgroup),
		cmocka_unit_test(pods_by_cgroup),
		cmocka_unit_test(names_of_containers),
		cmocka_unit_test(stat_with_odd_names),
		cmocka_unit_test(threads_with_names),
		cmocka_unit_test(threads_of_a_namespace),
		cmocka_unit_test(this_process),
		cmocka_unit_test(whole_files),
		cmocka_unit_test(executable_that_was_deleted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
