# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by the developer scripts: where things lie, and how they speak. Sourced, never run.

TJ_ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
export TJ_ROOT

# What is fetched and installed lives outside the checkout and is shared by all checkouts of this user.
if [ -z "${TJ_DEV_CACHE:-}" ]; then
  if [ -n "${XDG_CACHE_HOME:-}" ]; then
    TJ_DEV_CACHE=$XDG_CACHE_HOME/triton_jit-dev
  elif [ -n "${HOME:-}" ] && [ -w "$HOME" ]; then
    TJ_DEV_CACHE=$HOME/.cache/triton_jit-dev
  else
    TJ_DEV_CACHE=/var/tmp/triton_jit-dev-$(id -u)
  fi
fi
export TJ_DEV_CACHE

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

jobs_default() { nproc 2>/dev/null || echo 2; }

# Only one script at a time changes the cache; the lock ends with the process.
tj_lock_cache() {
  mkdir -p "$TJ_DEV_CACHE" || die "cannot create $TJ_DEV_CACHE: set TJ_DEV_CACHE to a folder that can be written"
  exec 9>"$TJ_DEV_CACHE/lock"
  if ! flock -n 9; then
    say "waiting for another script that installs into $TJ_DEV_CACHE"
    flock 9
  fi
}
tj_unlock_cache() { exec 9>&-; }
