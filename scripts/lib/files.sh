# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Which files are ours.

# shellcheck disable=SC2034 # used by the scripts that source this
TJ_C_PATTERNS=('*.c' '*.h' '*.hpp')

# tj_sources <name pattern...>: our files of these kinds, from the root of the checkout, separated by NUL.
tj_sources() {
  local pattern tests=()
  for pattern in "$@"; do
    tests+=(-o -name "$pattern")
  done
  find include src backends scripts tests examples operators cmake CMakeLists.txt \
    \( "${tests[@]:1}" \) -type f -print0 2>/dev/null | sort -z
}

# Every file says its licence near its top.
tj_all_have_licence() {
  local file bad=0
  while IFS= read -r -d '' file; do
    if ! head -n 3 -- "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0'; then
      echo "$file: no line \"SPDX-License-Identifier: Apache-2.0\" among its first three"
      bad=1
    fi
  done < <(tj_sources "${TJ_C_PATTERNS[@]}" '*.def' '*.py' '*.sh' '*.cmake' '*.map' 'CMakeLists.txt')
  return $bad
}
