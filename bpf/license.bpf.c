// SPDX-License-Identifier: GPL-2.0-only
/* license.bpf.c - the licence of all programs, and the settings that several families read. */
#include "compat.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile bool cfg_rdonly_cast = false;
const volatile bool cfg_probe_read = true;
