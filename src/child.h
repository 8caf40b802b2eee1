/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * child.h - a command that is held until it may start, and how it ended.
 */
#ifndef CHILD_H
#define CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int gate;		/* closing it without a byte ends the child unstarted */
	int failure;		/* readable: errno of a failed exec */
	bool ended;
	int status;		/* as waitpid() gives it */
};

/* Forks; the child waits. mask: the signal mask CMD gets. -errno. */
int child_prepare(struct child *c, char **argv, const sigset_t *mask);

/* Lets it start. -errno of its exec. */
int child_release(struct child *c);

/* Ends a child that was not released. */
void child_cancel(struct child *c);

/* Takes its exit when there is one, without waiting. True: it has ended. */
bool child_reap(struct child *c);

/* The exit status as a shell gives it: 128 + N after signal N. */
int child_exit_status(const struct child *c);

#endif
