// SPDX-License-Identifier: GPL-2.0-only
/* main.c - folioscope: what the Linux page cache does to folios on a live machine. */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <unistd.h>

#include "cmd.h"

static void on_signal(int signo)
{
}

/* Writing fails with EPIPE or EFBIG instead. Unlike SIG_IGN, a handler is not passed on to CMD. */
static void catch_signal(int signo)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, old;

	if (!sigaction(signo, NULL, &old) && old.sa_handler != SIG_IGN)
		sigaction(signo, &sa, NULL);
}

/* A map or a recording that got the number of a closed stdout or stderr would be written to. */
static int hold_std_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_PATH);	/* as before, neither read nor written */
	} while (fd >= 0 && fd <= STDERR_FILENO);
	return fd < 0 ? fd : close(fd);
}

int main(int argc, char **argv)
{
	static int (*const verbs[VERBS])(const struct config *cfg) = {
		[VERB_PROBE] = cmd_probe, [VERB_TOP] = cmd_top, [VERB_HEAT] = cmd_heat,
		[VERB_RUN] = cmd_run, [VERB_RECORD] = cmd_run, [VERB_EXPORT] = cmd_heat,
	};
	struct config cfg;
	int status;

	if (hold_std_fds())
		return EXIT_FAILED;
	setlocale(LC_CTYPE, "");
	status = opts_parse(&cfg, argc, argv);
	if (status)
		return status - 1;
	catch_signal(SIGPIPE);
	catch_signal(SIGXFSZ);
	return verbs[cfg.verb](&cfg);
}
