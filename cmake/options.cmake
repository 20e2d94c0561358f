# SPDX-License-Identifier: Apache-2.0
# Everything that a builder can choose.

set(TJ_BACKENDS "cpu;null" CACHE STRING "Backends built into the library, in the order in which a function tries them")
option(TJ_WERROR "Treat compiler warnings as errors" ${PROJECT_IS_TOP_LEVEL})
option(TJ_BUILD_TESTS "Build the tests (needs CMocka)" ${PROJECT_IS_TOP_LEVEL})
option(TJ_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
set(TJ_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=: \"address,undefined\" or \"thread\"")
set(TJ_CJSON_SOURCE_DIR "" CACHE PATH "Folder with cJSON.c and cJSON.h, to build cJSON into the library")

# An integration test runs once with each of these that is set.
set(TJ_TEST_PYTHON_36 "" CACHE FILEPATH "Python interpreter that has triton 3.6, for tests")
set(TJ_TEST_PYTHON_39 "" CACHE FILEPATH "Python interpreter that has triton 3.9, for tests")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
