// SPDX-License-Identifier: GPL-2.0-only
/* session.c - see session.h. */
#include <errno.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "session.h"
#include "tree.h"

#define TOP_MEMORY 30		/* intervals that top remembers an idle file for */
#define SAMPLE_NS 100000000ULL	/* peaks are as fine as this */

__u64 session_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static int open_signals(struct session *s)
{
	static const int wanted[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD,
				      SIGWINCH, SIGALRM, SIGCONT, SIGTSTP };
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		sigaddset(&set, wanted[i]);
	sigprocmask(SIG_BLOCK, &set, &s->old_mask);
	s->sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->sigfd < 0 ? -errno : 0;
}

static int open_recording(struct session *s)
{
	char err[256];

	s->reader = record_open(s->cfg->input, err, sizeof(err));
	if (s->reader)
		return 0;
	log_error("%s: open: %s", s->cfg->input, err);
	return EXIT_FAILED;
}

static struct tracer_opts make_opts(const struct config *cfg, bool filter_tree)
{
	struct tracer_opts o = {
		.btf_path = cfg->btf,
		.user = cfg->hooks,
		.nuser = cfg->nhooks,
		.requested = cfg->requested,
		.memory = cfg->memory,
		.run_stats = cfg->stats,
		.backend = cfg->backend,
		.comm = cfg->comm,
		.cgroup = cfg->cgroup,
		.every = cfg->every,
		.sites = cfg->sites,
	};

	o.filter = (filter_tree || cfg->npids ? FS_FILTER_TREE : 0) |
		   (cfg->cgroup ? FS_FILTER_CGROUP : 0) | (cfg->comm ? FS_FILTER_COMM : 0);
	o.outside = o.filter != 0;
	return o;
}

/* btrfs tells stat() a number of the subvolume's, not the super block's. */
static int find_folios_file(const char *path, struct tracer_opts *o)
{
	struct statfs fs;
	struct stat st;

	if (stat(path, &st) || statfs(path, &fs)) {
		log_error("--folios: %s: stat: %s", path, errstr(errno));
		return -errno;
	}
	o->folios_ino = st.st_ino;
	if (fs.f_type != BTRFS_SUPER_MAGIC)
		o->folios_dev = major(st.st_dev) << 20 | minor(st.st_dev);
	return 0;
}

static int follow_pids(struct session *s)
{
	size_t i;
	int err;

	for (i = 0; i < s->cfg->npids; i++) {
		err = tree_add(s->tracer.skel, s->cfg->pids[i]);
		if (err) {
			log_error("--filter pid=%d: follow: %s", s->cfg->pids[i], errstr(err));
			return EXIT_FAILED;
		}
	}
	return 0;
}

/* A signal that was asked for, or a family that the verb lives on, must be there. */
static int check_required(const struct session *s)
{
	const struct tracer *t = &s->tracer;
	int sig, status = 0;
	bool any = false;

	for (sig = 0; sig < SIGNALS; sig++) {
		any |= t->sig[sig].chosen != NULL;
		if (!(s->cfg->required & (1ULL << sig)) || t->sig[sig].chosen)
			continue;
		log_error("%s: required, but unavailable: %s", signals[sig].name,
			  t->sig[sig].reason);
		status = EXIT_UNAVAILABLE;
	}
	if (!status && s->cfg->verb == VERB_HEAT && !tracer_family_on(t, FAM_ACCESS)) {
		log_error("access: unavailable: %s; heat shows nothing without it",
			  t->sig[SIG_ACCESS_READ].chosen ? t->sig[SIG_ACCESS_LIFECYCLE].reason :
							   t->sig[SIG_ACCESS_READ].reason);
		status = EXIT_UNAVAILABLE;
	}
	if (!status && !any) {
		log_error("hooks: attach: none of them is usable here (`folioscope probe` tells why)");
		status = EXIT_UNAVAILABLE;
	}
	return status;
}

static int open_live(struct session *s, bool filter_tree)
{
	struct tracer_opts o = make_opts(s->cfg, filter_tree);
	int err, status;

	if (s->cfg->folios && find_folios_file(s->cfg->folios, &o))
		return EXIT_FAILED;
	err = tracer_open(&s->tracer, &o);
	switch (err) {
	case 0:
		break;
	case -EPERM:
		return EXIT_PERMISSION;
	case -ENOENT:
		return EXIT_UNAVAILABLE;
	default:
		return EXIT_FAILED;
	}
	s->live = true;
	status = check_required(s);
	if (status)
		return status;
	tracer_canary(&s->tracer);
	/* top looks at one interval only; elsewhere a file belongs to the whole window. */
	if (collector_open(&s->collector, &s->tracer, s->cfg->verb == VERB_TOP ? TOP_MEMORY : 0))
		return EXIT_FAILED;
	return follow_pids(s);
}

int session_open(struct session *s, const struct config *cfg, bool filter_tree)
{
	int status;

	memset(s, 0, sizeof(*s));
	s->cfg = cfg;
	s->sigfd = -1;
	if (open_signals(s)) {
		log_error("signals: open: %s", errstr(errno));
		return EXIT_FAILED;
	}
	status = cfg->input ? open_recording(s) : open_live(s, filter_tree);
	if (status)
		session_close(s);
	return status;
}

void session_close(struct session *s)
{
	if (s->live) {
		collector_close(&s->collector);
		tracer_close(&s->tracer);
	}
	record_reader_close(s->reader);
	s->reader = NULL;
	s->live = false;
	if (s->sigfd >= 0) {
		close(s->sigfd);
		sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
	}
	s->sigfd = -1;
}

int session_next(struct session *s, struct snapshot *snap)
{
	int err;

	if (s->live) {
		err = collector_snapshot(&s->collector, snap);
		return err ?: 1;
	}
	err = record_read(s->reader, snap);
	if (err == -EBADMSG) {
		log_error("%s: %s; what precedes the damage is shown", s->cfg->input,
			  record_error(s->reader));
		s->damaged = true;
		return 0;
	}
	if (!err && record_incomplete(s->reader))
		log_warn("%s: the recording was not closed; it may end early", s->cfg->input);
	return err;
}

/* As the default action does it: an orphan is not stopped, since nobody could wake it. */
static void stop_as_default(void)
{
	sigset_t tstp, old;

	sigemptyset(&tstp);
	sigaddset(&tstp, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &tstp, &old);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

bool session_ends_us(const struct signalfd_siginfo *sig)
{
	return sig->ssi_signo == SIGINT || sig->ssi_signo == SIGTERM || sig->ssi_signo == SIGHUP ||
	       sig->ssi_signo == SIGQUIT;
}

enum wait_end session_wait(struct session *s, __u64 until, struct signalfd_siginfo *sig)
{
	__u64 now;
	struct pollfd fds[2] = { { .fd = s->sigfd, .events = POLLIN }, { .fd = -1 } };

	if (!s->live)
		return WAIT_TIME;
	fds[1] = (struct pollfd){ .fd = collector_fd(&s->collector), .events = POLLIN };
	while ((now = session_now()) < until) {
		__u64 left = until - now < SAMPLE_NS ? until - now : SAMPLE_NS;
		struct timespec ts = { 0, left };

		if (ppoll(fds, 2, &ts, NULL) > 0 && (fds[0].revents & POLLIN) &&
		    read(s->sigfd, sig, sizeof(*sig)) == sizeof(*sig)) {
			if (sig->ssi_signo != SIGTSTP || sig->ssi_code != SI_KERNEL)
				return WAIT_SIGNAL;
			stop_as_default();
		}
		collector_sample(&s->collector);
	}
	return WAIT_TIME;
}
