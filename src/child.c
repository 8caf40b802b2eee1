// SPDX-License-Identifier: GPL-2.0-only
/* child.c - see child.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

/* In the child: waits for its byte, then becomes CMD. */
static void become(int gate, int failure, char **argv, const sigset_t *mask)
{
	char go;
	int err;

	if (read(gate, &go, 1) != 1)
		_exit(125);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	err = errno;
	if (write(failure, &err, sizeof(err)) != sizeof(err))
		_exit(125);
	_exit(err == ENOENT ? 127 : 126);
}

int child_prepare(struct child *c, char **argv, const sigset_t *mask)
{
	int gate[2], failure[2], err;

	memset(c, 0, sizeof(*c));
	if (pipe2(gate, O_CLOEXEC))
		return -errno;
	if (pipe2(failure, O_CLOEXEC)) {
		err = -errno;
		close(gate[0]);
		close(gate[1]);
		return err;
	}
	c->pid = fork();
	if (!c->pid) {
		close(gate[1]);
		close(failure[0]);
		become(gate[0], failure[1], argv, mask);
	}
	err = c->pid < 0 ? -errno : 0;
	close(gate[0]);
	close(failure[1]);
	c->gate = gate[1];
	c->failure = failure[0];
	if (err) {
		close(c->gate);
		close(c->failure);
	}
	return err;
}

int child_release(struct child *c)
{
	int err = 0, sent = write(c->gate, "g", 1) == 1 ? 0 : -errno;

	close(c->gate);
	/* The pipe closes at a successful exec. */
	if (!sent && read(c->failure, &err, sizeof(err)) != sizeof(err))
		err = 0;
	close(c->failure);
	if (sent)
		return sent;
	if (err)
		waitpid(c->pid, &c->status, 0);
	c->ended = err != 0;
	return -err;
}

void child_cancel(struct child *c)
{
	close(c->gate);
	close(c->failure);
	waitpid(c->pid, &c->status, 0);
	c->ended = true;
}

bool child_reap(struct child *c)
{
	if (!c->ended && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->ended = true;
	return c->ended;
}

int child_exit_status(const struct child *c)
{
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}
