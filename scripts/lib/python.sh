# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Virtual environments with pinned packages, made once and again when their pins or the interpreter change.

# The interpreter that environments are made from: TJ_PYTHON, else the system's. The library opens its shared libpython,
# which a distribution's Python has and many hand-built ones lack.
tj_base_python() {
  local python=${TJ_PYTHON:-/usr/bin/python3}
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || die \
    "$python is $("$python" --version 2>&1 || echo missing): triton 3.9 and xdsl need Python 3.11 or newer." \
    "Set TJ_PYTHON to one that was built with a shared libpython."
  printf '%s\n' "$python"
}

# Installs the package of the shared libpython if the interpreter $1 has none that can be opened.
tj_need_libpython() {
  local probe='import ctypes, os, sysconfig
name = sysconfig.get_config_var("INSTSONAME") or ""
for path in (name, os.path.join(sysconfig.get_config_var("LIBDIR") or "", name)):
    try:
        ctypes.CDLL(path) if ".so" in name else sys.exit(1)
        break
    except OSError:
        continue
else:
    raise SystemExit(1)'
  "$1" -c "import sys; $probe" 2>/dev/null && return
  have apt-get || die "$1 has no shared libpython"
  tj_apt_install "libpython$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" || die "$1 has no shared libpython"
}

# tj_venv <name> <requirements file> [package...]: makes or renews the environment, and prints its folder.
tj_venv() {
  local name=$1 requirements=$2 folder=$TJ_DEV_CACHE/venvs/$1 base want
  shift 2
  base=$(tj_base_python) || return
  want=$({ "$base" -c 'import sys; print(sys.version, sys.executable)'; printf '%s\n' "$@"; cat "$requirements"; } | sha256sum)
  if [ "$(cat "$folder/stamp" 2>/dev/null)" != "$want" ]; then
    say "installing Python packages: $name ($(sed -E '/^(#|$)/d; s/ *[;#].*//' "$requirements" | tr '\n' ' ')$*)"
    rm -rf "$folder"
    mkdir -p "${folder%/*}"
    "$base" -m venv "$folder" >&2 || die "$base -m venv failed: is python3-venv installed?"
    "$folder/bin/python" -m pip install -q --disable-pip-version-check -r "$requirements" "$@" >&2 ||
      die "pip could not install the packages of $name"
    printf '%s\n' "$want" >"$folder/stamp"
  fi
  printf '%s\n' "$folder"
}

# The environments by their names in tests: t36 and t39 have Triton, tools has formatters.
tj_venv_triton() {
  case $1 in
    t36) tj_venv t36 "$TJ_ROOT/scripts/lib/requirements-triton.txt" triton==3.6.0 ;;
    t39) tj_venv t39 "$TJ_ROOT/scripts/lib/requirements-triton.txt" triton==3.9.0 ;;
    *) die "no such environment: $1" ;;
  esac
}
tj_venv_tools() { tj_venv tools "$TJ_ROOT/scripts/lib/requirements-tools.txt"; }
