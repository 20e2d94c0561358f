# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Configuring and building a preset of CMakePresets.json, in build/<preset>.

# tj_build <preset> <target> [cmake argument...]
tj_build() {
  local preset=$1 target=$2 arguments=()
  shift 2
  if [ -n "${TJ_CJSON_SOURCE:-}" ]; then
    arguments+=("-DTJ_CJSON_SOURCE_DIR=$TJ_CJSON_SOURCE")
  fi
  (
    cd "$TJ_ROOT" || exit
    # CC counts only where the preset leaves the compiler open.
    CC=${CC:-gcc} cmake --preset "$preset" -DTJ_WERROR=ON "${arguments[@]}" "$@" &&
      cmake --build "build/$preset" --target "$target" -j "$(jobs_default)"
  )
}
