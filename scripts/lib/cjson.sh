# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The distribution's source of cJSON, so that it is built into the library. Its own packages have only the shared one.

# Writes copies of the system's apt sources to folder $1, asking for source packages.
tj_write_source_lists() {
  local file
  mkdir -p "$1"
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -e "$file" ] || continue
    sed -E 's/^[Tt]ypes:.*/Types: deb-src/' "$file" >"$1/${file##*/}"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -e "$file" ] || continue
    sed -nE 's/^[[:space:]]*deb([[:space:]])/deb-src\1/p' "$file" >"$1/${file##*/}"
  done
}

tj_fetch_cjson() {
  local work=$1 apt
  tj_write_source_lists "$work/lists.d"
  mkdir -p "$work/state/partial" "$work/cache/archives/partial"
  apt=(apt-get -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/lists.d"
    -o "Dir::State::Lists=$work/state" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=)
  (
    cd "$work" || exit
    "${apt[@]}" update && "${apt[@]}" source --download-only cjson && dpkg-source --no-check -x ./*.dsc src
  )
}

# Prints the folder of cJSON.c and cJSON.h; prints nothing, with the reason on stderr, if it cannot be had.
tj_cjson_source() {
  local release folder work
  # shellcheck source=/dev/null
  release=$(. /etc/os-release && printf '%s-%s' "${ID:-linux}" "${VERSION_ID:-rolling}")
  folder=$TJ_DEV_CACHE/cjson/$release
  if [ ! -e "$folder/cJSON.c" ]; then
    work=$(mktemp -d "$TJ_DEV_CACHE/fetch.XXXXXX")
    if have apt-get && tj_fetch_cjson "$work" >"$TJ_DEV_CACHE/cjson.log" 2>&1 && [ -e "$work/src/cJSON.c" ]; then
      mkdir -p "$TJ_DEV_CACHE/cjson"
      rm -rf "$folder"
      mv "$work/src" "$folder"
    else
      say "the source package cjson cannot be had (see $TJ_DEV_CACHE/cjson.log): building with the shared libcjson"
    fi
    rm -rf "$work"
  fi
  [ ! -e "$folder/cJSON.c" ] || printf '%s\n' "$folder"
}
