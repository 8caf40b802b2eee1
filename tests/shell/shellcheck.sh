#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Every shell script of the project is clean.
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t scripts < <(git ls-files 2>/dev/null | grep -E '\.sh$|^\.ci/run$|^completion/' || find . -name '*.sh' -not -path './out/*')
[[ ${#scripts[@]} -gt 10 ]]
shellcheck -x -P SCRIPTDIR "${scripts[@]}"
