/* SPDX-License-Identifier: GPL-2.0-only */
/* render_refs.h - the part of the text report that is about references and their bounces. */
#ifndef RENDER_REFS_H
#define RENDER_REFS_H

#include <stdbool.h>
#include <stdio.h>

#include "model.h"

/* Nothing where no references are known. -ENOMEM. */
int render_text_refs(FILE *out, const struct report *r, unsigned int width, bool basename);

#endif
