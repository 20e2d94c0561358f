# SPDX-License-Identifier: Apache-2.0
# xxHash is used header-only: a file that hashes defines XXH_INLINE_ALL before it includes it. tj_xxhash is the path.

find_path(TJ_XXHASH_INCLUDE_DIR xxhash.h DOC "Folder with xxhash.h 0.8 or newer")
if(NOT TJ_XXHASH_INCLUDE_DIR)
  message(FATAL_ERROR "xxhash.h not found: install libxxhash-dev (xxhash-devel), or set TJ_XXHASH_INCLUDE_DIR")
endif()
add_library(tj_xxhash INTERFACE)
target_include_directories(tj_xxhash SYSTEM INTERFACE ${TJ_XXHASH_INCLUDE_DIR})
