# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# System packages, on Debian and Ubuntu. Elsewhere the names are printed and the build tells what is missing.

# shellcheck disable=SC2034 # used by the scripts that source this
TJ_PACKAGES_BUILD=(gcc libc6-dev cmake ninja-build libxxhash-dev libcjson-dev dpkg-dev patch xz-utils python3 python3-venv)
# shellcheck disable=SC2034
TJ_PACKAGES_TEST=(g++ clang clang-tidy valgrind gdb binutils libcmocka-dev shellcheck)

# The ones of $@ that are not installed.
tj_missing_packages() {
  local installed name
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null | awk '$2 == "installed" {print $1}')
  for name in "$@"; do
    grep -qxF -- "$name" <<<"$installed" || printf '%s\n' "$name"
  done
}

tj_as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif have sudo; then
    sudo -- "$@"
  else
    say "not root, and there is no sudo. As root, run: $*"
    return 1
  fi
}

tj_apt_install() {
  say "installing packages: $*"
  tj_as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 update >&2 || return
  tj_as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 \
    install --no-install-recommends "$@" >&2
}

# Installs what is missing of the named packages.
tj_need_packages() {
  local missing
  if ! have apt-get; then
    say "no apt-get here. Needed, by their Debian names: $*"
    return 0
  fi
  mapfile -t missing < <(tj_missing_packages "$@")
  [ ${#missing[@]} = 0 ] || tj_apt_install "${missing[@]}" || die "cannot install: ${missing[*]}"
}

# clang's sanitizer run-time is a package of its own, named after clang's version.
tj_need_clang_sanitizers() {
  local probe major
  probe=$(mktemp -d)
  echo 'int main(void) { return 0; }' >"$probe/probe.c"
  if ! clang -fsanitize=address "$probe/probe.c" -o "$probe/probe" 2>/dev/null; then
    major=$(clang -dumpversion | cut -d. -f1)
    have apt-get && tj_apt_install "libclang-rt-$major-dev"
  fi
  rm -rf "$probe"
}
