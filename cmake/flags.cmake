# SPDX-License-Identifier: Apache-2.0
# Compiler and linker flags: tj_flags for everything that we compile, tj_library_flags for the library on top.

include(CheckCCompilerFlag)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_library(tj_flags INTERFACE)
target_compile_definitions(tj_flags INTERFACE _GNU_SOURCE)
target_compile_options(tj_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Wundef
  # The same file in another checkout gives the same bytes; a debug build keeps the paths that a debugger needs.
  -f$<IF:$<CONFIG:Debug>,macro,file>-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(TJ_WERROR)
  target_compile_options(tj_flags INTERFACE -Werror)
endif()
if(TJ_SANITIZE)
  target_compile_options(tj_flags INTERFACE -fsanitize=${TJ_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tj_flags INTERFACE -fsanitize=${TJ_SANITIZE})
endif()

add_library(tj_library_flags INTERFACE)
target_link_libraries(tj_library_flags INTERFACE tj_flags)
target_compile_options(tj_library_flags INTERFACE -fvisibility=hidden -ffunction-sections -fdata-sections)
if(NOT TJ_SANITIZE)
  foreach(flag -fno-plt -fno-semantic-interposition)
    string(MAKE_C_IDENTIFIER TJ_HAVE${flag} have)
    check_c_compiler_flag(${flag} ${have})
    if(${have})
      target_compile_options(tj_library_flags INTERFACE ${flag})
    endif()
  endforeach()
endif()

# For the shared library only. nodelete: worker threads and an interpreter that is never finalised outlive a dlclose.
set(TJ_SHARED_LINK_OPTIONS
  -Wl,-z,nodelete -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack
  -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,--as-needed
  -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/libtriton_jit.map)
if(NOT TJ_SANITIZE)
  # A sanitizer's own symbols come from the executable.
  list(APPEND TJ_SHARED_LINK_OPTIONS -Wl,--no-undefined)
endif()
