# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# An environment with torch for the CPU, for the parts that compare with it or build against it.
#
# torch's wheel for Linux is the CUDA one: it will not load without CUDA's libraries, 2 GiB of which the CPU never calls.
# The two small ones that it does call when it starts are installed; the others are stand-ins of a few KiB.

# The CUDA libraries that torch in folder $1 (its lib/) asks the loader for, and that are nowhere.
tj_missing_cuda_libraries() {
  readelf -d "$1"/libtorch*.so | sed -nE 's/.*\(NEEDED\).*\[(lib(cu|nv|nccl)[^]]*)\]/\1/p' | sort -u | while read -r name; do
    compgen -G "$1/$name" >/dev/null || compgen -G "$1/../../nvidia/*/lib/$name" >/dev/null || printf '%s\n' "$name"
  done
}

# The functions that torch in folder $1 expects of CUDA and that no library there has: "name" or "name@version".
tj_missing_cuda_functions() {
  comm -23 \
    <(nm -D --undefined-only "$1"/libtorch*.so "$1"/libc10_cuda.so | awk '$2 ~ /^(cu|nv|nccl)/ {print $2}' | sort -u) \
    <(nm -D --defined-only "$1"/*.so "$1"/../../nvidia/*/lib/*.so* 2>/dev/null | awk '{sub("@@", "@"); print $3}' | sort -u)
}

# Writes libraries into folder $1 (torch's lib/) that satisfy the loader. To call into one ends the process.
tj_make_cuda_stand_ins() {
  local name work
  work=$(mktemp -d)
  tj_missing_cuda_functions "$1" >"$work/functions"
  sed -E 's/@.*//; s/.*/void &(void) { __builtin_trap(); }/' "$work/functions" | sort -u >"$work/functions.c"
  awk -F@ 'NF == 2 {of[$2] = of[$2] " " $1 ";"} END {for (v in of) print v " {" of[v] " };"}' "$work/functions" >"$work/versions"
  # Each has all functions: the loader asks for a name and a version, not for who has them.
  gcc -w -O1 -fPIC -c "$work/functions.c" -o "$work/functions.o" &&
    tj_missing_cuda_libraries "$1" | while read -r name; do
      gcc -shared -nostdlib "-Wl,-soname,$name" "-Wl,--version-script,$work/versions" "$work/functions.o" -o "$1/$name"
    done
  rm -rf "$work"
}

# Prints the environment's folder.
tj_venv_torch() {
  local folder pins
  mapfile -t pins < <(grep -v '^#' "$TJ_ROOT/scripts/lib/requirements-torch.txt")
  folder=$(tj_venv torch "$TJ_ROOT/scripts/lib/requirements-triton.txt" --no-deps triton==3.6.0 "${pins[@]}") || return
  if ! "$folder/bin/python" -c 'import torch' 2>/dev/null; then
    tj_make_cuda_stand_ins "$(echo "$folder"/lib/python*/site-packages/torch/lib)"
    "$folder/bin/python" -c 'import torch' || die "torch cannot be imported in $folder"
  fi
  printf '%s\n' "$folder"
}
