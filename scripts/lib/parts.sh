# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The parts of scripts/test. To add one: a line here, and a function part_<name> below ("-" in a name is "_" there).
# A part runs in the checkout, in a process of its own, and says what it found with check, run_ctest, run_pytest or skip.

tj_parts() {
  cat <<'TABLE'
format        default  clang-format, ruff, shellcheck, licence lines
scripts       default  the scripts' own tests
build-gcc     default  release build, -Werror
build-clang   default  release build, -Werror
unit          default  one stage at a time: null backend, fake compiler
abi           default  exports, struct layout, headers alone, ELF flags, size
compile-py    default  the compile side in Python, Triton 3.6 and 3.9
cpu-py        default  the CPU code generator, Triton 3.6 and 3.9
parity        default  the same variants as Triton, by generated calls, Triton 3.6 and 3.9
integration   default  the whole library from C and C++, Triton 3.6 and 3.9
integration-py default the whole library through ctypes, results against NumPy, Triton 3.6 and 3.9
asan          default  address and undefined-behaviour sanitizers
tsan          default  thread sanitizer
tidy          default  clang-tidy
bench-smoke   all      the benchmarks start, run and end; kernels on the CPU give torch's results
TABLE
}

# ---- what a part says

# count <passed> <failed> <skipped>
count() { echo "$1 $2 $3" >>"$TJ_RESULTS/counts"; }

# check <what> <command...>: one test, passed if the command ends with 0.
check() {
  local what=$1
  shift
  echo "== $what"
  if "$@"; then
    count 1 0 0
  else
    count 0 1 0
    echo "$what" >>"$TJ_RESULTS/failures"
    return 1
  fi
}

# skip <why>: one test that cannot run here. It is counted, and the reason is shown.
skip() {
  count 0 0 1
  echo "$*" | tee -a "$TJ_RESULTS/skips"
}

# count_file <JUnit file> <status of the runner> [prefix]
count_file() {
  local counts
  counts=$(/usr/bin/env python3 "$TJ_ROOT/scripts/lib/count_tests.py" "$1" "$2")
  head -n 1 <<<"$counts" >>"$TJ_RESULTS/counts"
  tail -n +2 <<<"$counts" | sed "s/^/${3:-}/" >>"$TJ_RESULTS/failures"
}

# run_ctest <preset> <label pattern>: the tests of a built preset that carry a label.
run_ctest() {
  local preset=$1 label=$2 file=$TJ_RESULTS/ctest.xml
  rm -f "$file"
  "${TJ_CTEST_WRAPPER[@]}" ctest --test-dir "build/$preset" -L "^($label)\$" --no-tests=error --output-on-failure \
    -j "$(jobs_default)" --output-junit "$file" \
    --test-output-size-passed 4000000 --test-output-size-failed 4000000
  count_file "$file" $? "$preset: "
}
TJ_CTEST_WRAPPER=(env)

# For pytest, where tests do not depend on each other. Neighbours mostly stay in one process, and share what is made once.
TJ_IN_PARALLEL=(-n "$(jobs_default)" --dist worksteal)

# run_pytest <t36 | t39> <argument of pytest...>
run_pytest() {
  local version=$1 python=TJ_VENV_${1^^} file=$TJ_RESULTS/pytest.xml
  shift
  python=${!python}/bin/python3
  rm -f "$file"
  echo "== pytest, $version: $*"
  TRITON_JIT_PYTHON=$python TJ_LIBRARY=$TJ_ROOT/build/release/lib/libtriton_jit.so \
    "$python" -m pytest -q -rfE -p no:cacheprovider --junitxml "$file" "$@"
  count_file "$file" $? "$version: "
}

# run_pytest_both <argument of pytest...>: with both Triton versions.
run_pytest_both() {
  run_pytest t36 "$@"
  run_pytest t39 "$@"
}

# built <preset>: builds it if needed. A part that needs a build works on its own; a failed one fails the part.
built() {
  local arguments=("-DTJ_TEST_PYTHON_36=$TJ_VENV_T36/bin/python3")
  # Sanitizers look at our code, which is the same for both: one Triton version is enough.
  case $1 in
    asan | tsan) ;;
    *) arguments+=("-DTJ_TEST_PYTHON_39=$TJ_VENV_T39/bin/python3") ;;
  esac
  tj_build "$1" all "${arguments[@]}" && return
  count 0 1 0
  echo "the build failed: $1" >>"$TJ_RESULTS/failures"
  return 1
}

# ---- the parts

part_format() {
  local c python ruff
  mapfile -d '' -t c < <(tj_sources "${TJ_C_PATTERNS[@]}")
  mapfile -d '' -t python < <(tj_sources '*.py')
  ruff=("$TJ_VENV_TOOLS/bin/ruff" --config scripts/lib/ruff.toml)
  check "clang-format (./scripts/format repairs it)" "$TJ_VENV_TOOLS/bin/clang-format" --dry-run -Werror "${c[@]}"
  check "ruff check" "${ruff[@]}" check --no-cache "${python[@]}"
  check "ruff format (./scripts/format repairs it)" "${ruff[@]}" format --no-cache --check "${python[@]}"
  check shellcheck shellcheck scripts/test scripts/demo scripts/format .ci/run scripts/lib/*.sh tests/bench/bench_cpu
  check "licence lines" tj_all_have_licence
  return 0
}

part_scripts() { run_pytest t36 tests/scripts; }

part_build_gcc() { built release && count 1 0 0; }
part_build_clang() { built clang && count 1 0 0; }

part_unit() { built release && run_ctest release unit; }
part_abi() { built release && run_ctest release abi; }

part_compile_py() { run_pytest_both "${TJ_IN_PARALLEL[@]}" tests/compile; }
part_cpu_py() { run_pytest_both "${TJ_IN_PARALLEL[@]}" tests/cpu; }
# Not in parallel: one test counts what the others have done.
part_parity() { built release && run_pytest_both tests/parity; }

part_integration() { built release && run_ctest release integration; }
part_integration_py() { built release && run_pytest_both "${TJ_IN_PARALLEL[@]}" tests/integration; }

# Older sanitizers cannot map their shadow memory where the kernel randomises addresses widely.
sanitized() {
  ! setarch -R true 2>/dev/null || TJ_CTEST_WRAPPER=(setarch -R)
  built "$1" && run_ctest "$1" 'unit|integration|parity'
}
part_asan() { sanitized asan; }
part_tsan() { sanitized tsan; }

# tidy_one <source>: keeps the outcome under the file's name, for part_tidy to count.
tidy_one() {
  local outcome=$TJ_RESULTS/tidy/${1//\//_}
  clang-tidy --quiet -p build/clang "$1" >"$outcome.text" 2>/dev/null
  echo $? >"$outcome.status"
}
export -f tidy_one

tidy_outcome() {
  cat "$1.text"
  [ "$(cat "$1.status")" = 0 ]
}

part_tidy() {
  local files file
  built clang || return
  mkdir -p "$TJ_RESULTS/tidy"
  # The compile commands say which files there are; cJSON's lies in the build folder.
  mapfile -t files < <(python3 -c 'import json
for entry in json.load(open("build/clang/compile_commands.json")):
    print(entry["file"])' | grep -vF "$TJ_ROOT/build/" | sort -u)
  # shellcheck disable=SC2016
  printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(jobs_default)" bash -c 'tidy_one "$1"' --
  for file in "${files[@]}"; do
    check "clang-tidy ${file#"$TJ_ROOT"/}" tidy_outcome "$TJ_RESULTS/tidy/${file//\//_}"
  done
  return 0
}

part_bench_smoke() {
  built release || return
  run_ctest release bench
  check "bench_cpu --quick" tests/bench/bench_cpu --quick
}
