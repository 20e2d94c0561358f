# SPDX-License-Identifier: Apache-2.0
# How tests are declared. The labels are what `ctest -L` and scripts/test select by.

find_path(TJ_CMOCKA_INCLUDE_DIR cmocka.h DOC "Folder with cmocka.h")
find_library(TJ_CMOCKA_LIBRARY cmocka DOC "CMocka")
if(NOT TJ_CMOCKA_INCLUDE_DIR OR NOT TJ_CMOCKA_LIBRARY)
  message(FATAL_ERROR "CMocka not found: install libcmocka-dev (libcmocka-devel), or set TJ_BUILD_TESTS=OFF")
endif()
add_library(tj_cmocka INTERFACE)
target_include_directories(tj_cmocka SYSTEM INTERFACE ${TJ_CMOCKA_INCLUDE_DIR})
target_link_libraries(tj_cmocka INTERFACE ${TJ_CMOCKA_LIBRARY})

# For programs that have Triton in their process: AddressSanitizer looks for the C++ exceptions that it wraps when a
# program starts, and Triton brings them later.
add_library(tj_triton_host INTERFACE)
if(TJ_SANITIZE)
  target_link_options(tj_triton_host INTERFACE -Wl,--no-as-needed -lstdc++ -Wl,--as-needed)
endif()

# Environment of every test: the source tree's scripts (a statically linked test lies elsewhere than the library), and
# what the sanitizers should know. A sanitizer's finding must not look like a test's own exit status.
set(sanitizer_dir ${PROJECT_SOURCE_DIR}/tests/sanitizers)
set(TJ_TEST_ENVIRONMENT
  TRITON_JIT_SCRIPTS=${PROJECT_SOURCE_DIR}/scripts
  TJ_TEST_SOURCE_DIR=${PROJECT_SOURCE_DIR}
  TJ_TEST_BUILD_DIR=${PROJECT_BINARY_DIR}
  "ASAN_OPTIONS=exitcode=99:detect_stack_use_after_return=1:strict_string_checks=1"
  "LSAN_OPTIONS=exitcode=98:suppressions=${sanitizer_dir}/lsan.supp:print_suppressions=0"
  "UBSAN_OPTIONS=print_stacktrace=1"
  "TSAN_OPTIONS=exitcode=97:second_deadlock_stack=1:ignore_noninstrumented_modules=1:suppressions=${sanitizer_dir}/tsan.supp")

# Registers one run of a test program, with extra NAME=VALUE pairs for its environment.
function(tj_register_test name program label)
  add_test(NAME ${name} COMMAND ${program})
  set_tests_properties(${name} PROPERTIES
    LABELS "${label}" TIMEOUT 300 SKIP_RETURN_CODE 77 ENVIRONMENT "${TJ_TEST_ENVIRONMENT};${ARGN}")
endfunction()

# Registers a test program once for every Triton version that is configured, as <name>.t36 and <name>.t39, with
# TRITON_JIT_PYTHON set to its interpreter.
function(tj_register_test_with_triton name program label)
  set(any FALSE)
  foreach(version 36 39)
    if(TJ_TEST_PYTHON_${version})
      tj_register_test(${name}.t${version} ${program} "${label}" TRITON_JIT_PYTHON=${TJ_TEST_PYTHON_${version}})
      set(any TRUE)
    endif()
  endforeach()
  if(NOT any)
    message(STATUS "${name}: not registered; set TJ_TEST_PYTHON_36 or TJ_TEST_PYTHON_39")
  endif()
endfunction()

# tj_add_unit_test(<name> <source>...): one stage on its own. Sees the library's internals.
function(tj_add_unit_test name)
  string(REPLACE "." "_" target ${name})
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE triton_jit::static tj_internal tj_flags tj_cmocka)
  # Deep enough for no rule of an installation to find the scripts from there.
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/programs/unit)
  tj_register_test(${name} ${target} unit)
endfunction()

# tj_add_integration_test(<name> <source>...): the whole library through its public headers, with real Triton.
function(tj_add_integration_test name)
  string(REPLACE "." "_" target ${name})
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE triton_jit::triton_jit tj_triton_host tj_flags tj_cmocka Threads::Threads m
    ${CMAKE_DL_LIBS})
  tj_register_test_with_triton(${name} ${target} integration)
endfunction()

# tj_add_benchmark(<name> <source>...): a program that measures, and with --smoke only shows that it runs. Sees internals.
function(tj_add_benchmark name)
  string(REPLACE "." "_" target ${name})
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE triton_jit::static tj_internal tj_flags)
  add_test(NAME ${name} COMMAND ${target} --smoke)
  set_tests_properties(${name} PROPERTIES
    LABELS bench TIMEOUT 120 RUN_SERIAL TRUE SKIP_RETURN_CODE 77 ENVIRONMENT "${TJ_TEST_ENVIRONMENT}")
endfunction()
