// SPDX-License-Identifier: GPL-2.0-only
/* cost_work.c - workloads that make events of one kind (cost.h). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cost.h"

#define PAGE 4096
#define FILE_PAGES 64
#define LATER_PAGE 37	/* in the middle of the second of its folio batches */

static int file_fd = -1, scratch_fd = -1, memfd = -1;
static int ping[2] = { -1, -1 }, pong[2] = { -1, -1 };
static pthread_t echo_thread;
static char buf[FILE_PAGES * PAGE];
/* Results go here, so that the compiler keeps the loads; a short read shows at work_open(). */
static volatile long sink;

static void read_first(unsigned int n)
{
	while (n--)
		sink += pread(file_fd, buf, 16, 0);
}

static void read_later(unsigned int n)
{
	while (n--)
		sink += pread(file_fd, buf, 16, LATER_PAGE * PAGE);
}

static void read_many(unsigned int n)
{
	while (n--)
		sink += pread(file_fd, buf, sizeof(buf), 0);
}

/* A fault-around maps 16 pages. */
static void mapped(unsigned int n)
{
	char *p;
	int i;

	while (n--) {
		p = mmap(NULL, sizeof(buf), PROT_READ, MAP_SHARED, file_fd, 0);
		if (p == MAP_FAILED)
			return;
		for (i = 0; i < FILE_PAGES; i += 16)
			sink += p[i * PAGE];
		munmap(p, sizeof(buf));
	}
}

/* A private page that is written first is not mapped around. */
static void fault(unsigned int n)
{
	char *p;
	int i;

	while (n--) {
		p = mmap(NULL, sizeof(buf), PROT_READ | PROT_WRITE, MAP_PRIVATE, file_fd, 0);
		if (p == MAP_FAILED)
			return;
		for (i = 0; i < FILE_PAGES; i++)
			p[i * PAGE] = 1;
		munmap(p, sizeof(buf));
	}
}

/* Pages enter, become dirty and leave before anything is written back. */
static void lifecycle(unsigned int n)
{
	int i;

	while (n--) {
		for (i = 0; i < FILE_PAGES; i++)
			sink += pwrite(scratch_fd, buf, PAGE, (off_t)i * PAGE);
		sink += ftruncate(scratch_fd, 0);
	}
}

static void tmpfs(unsigned int n)
{
	while (n--)
		sink += pread(memfd, buf, 16, 0);
}

static void getppid_calls(unsigned int n)
{
	while (n--)
		sink += syscall(SYS_getppid);
}

static void forks(unsigned int n)
{
	pid_t pid;

	while (n--) {
		pid = fork();
		if (!pid)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
}

static void *echo(void *unused)
{
	char c;

	while (read(ping[0], &c, 1) == 1)
		if (write(pong[1], &c, 1) != 1)
			break;
	return NULL;
}

/* The echo thread has inherited our CPU: each way is a switch. */
static void switches(unsigned int n)
{
	char c = 0;

	while (n--)
		if (write(ping[1], &c, 1) != 1 || read(pong[0], &c, 1) != 1)
			return;
}

const struct work work_read_first = { "read", read_first, 20000 };
const struct work work_read_later = { "read", read_later, 20000 };
const struct work work_read_many = { "read", read_many, 1500 };
const struct work work_fault = { "fault", fault, 60 };
const struct work work_mapped = { "fault", mapped, 1000 };
const struct work work_lifecycle = { "write", lifecycle, 60 };
const struct work work_tmpfs = { "read", tmpfs, 20000 };
const struct work work_getppid = { "getppid", getppid_calls, 20000 };
const struct work work_fork = { "fork", forks, 150 };
const struct work work_switch = { "pipe", switches, 3000 };

static int open_file(const char *dir, const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

/* In writes of a page, so that each page is a folio of its own. */
static int fill(int fd)
{
	int i;

	memset(buf, 1, sizeof(buf));
	for (i = 0; i < FILE_PAGES; i++)
		if (pwrite(fd, buf, PAGE, (off_t)i * PAGE) != PAGE)
			return -EIO;
	return fsync(fd) ? -errno : 0;
}

int work_open(const char *dir)
{
	file_fd = open_file(dir, "read");
	scratch_fd = open_file(dir, "write");
	memfd = memfd_create("cost", MFD_CLOEXEC);
	if (file_fd < 0 || scratch_fd < 0 || memfd < 0)
		return -EIO;
	if (fill(file_fd) || pwrite(memfd, buf, PAGE, 0) != PAGE ||
	    pread(file_fd, buf, sizeof(buf), 0) != sizeof(buf))
		return -EIO;
	if (pipe2(ping, O_CLOEXEC) || pipe2(pong, O_CLOEXEC))
		return -errno;
	return -pthread_create(&echo_thread, NULL, echo, NULL);
}

void work_close(void)
{
	if (ping[1] >= 0)
		close(ping[1]);
	if (echo_thread)
		pthread_join(echo_thread, NULL);
	close(file_fd);
	close(scratch_fd);
	close(memfd);
}

static void file_path(char *path, size_t size, const char *dir, unsigned int i)
{
	snprintf(path, size, "%s/%u", dir, i);
}

int work_files(const char *dir, unsigned int n)
{
	char path[128];
	unsigned int i;
	int fd, err = 0;

	for (i = 0; i < n && !err; i++) {
		file_path(path, sizeof(path), dir, i);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			return -errno;
		if (write(fd, buf, PAGE) != PAGE)
			err = -EIO;
		close(fd);
	}
	return err;
}

void work_files_read(const char *dir, unsigned int n)
{
	char path[128];
	unsigned int i;
	int fd;

	for (i = 0; i < n; i++) {
		file_path(path, sizeof(path), dir, i);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return;
		sink += pread(fd, buf, 16, 0);
		close(fd);
	}
}

void work_files_remove(const char *dir, unsigned int n)
{
	char path[128];
	unsigned int i;

	for (i = 0; i < n; i++) {
		file_path(path, sizeof(path), dir, i);
		unlink(path);
	}
}
