#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Instructions a call of bench_call's cases, counted by valgrind: the same on every run and on every machine.
#   tests/bench/instructions.sh build/release/tests/bench/bench_call
set -euo pipefail
bench=${1:?usage: $0 BENCH_CALL}
few=1000 many=11000

count() { # case runs
  valgrind --tool=none --log-file=/dev/null true 2>/dev/null || { echo "valgrind is not installed" >&2; exit 1; }
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bench" --only "$1" "$2" 2>&1 |
    sed -n 's/^==.*Collected : //p'
}

for ((i = 0; i < 16; i++)); do
  name=$("$bench" --only "$i" 1)
  a=$(count "$i" $few)
  b=$(count "$i" $many)
  printf '%-50s %5d instructions\n' "$name" $(((b - a) / (many - few)))
done
