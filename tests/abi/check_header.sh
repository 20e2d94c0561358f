#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_header.sh <compiler> <c or c++> <standard> <include folder> <header>: it compiles alone, and twice, in strict mode
# and without a warning.
set -eu
command -v "$1" >/dev/null || { echo "there is no $1"; exit 77; }
printf '#include <%s>\n#include <%s>\n' "$5" "$5" |
  "$1" -x "$2" "-std=$3" -pedantic-errors -Wall -Wextra -Wshadow -Wconversion -Werror -I "$4" -fsyntax-only -
