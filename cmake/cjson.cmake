# SPDX-License-Identifier: Apache-2.0
# cJSON, best inside the library with hidden symbols, so that a host's own cJSON can never meet ours:
#   1. its source, where TJ_CJSON_SOURCE_DIR names it;
#   2. a static library, if it was compiled as position-independent code;
#   3. the shared library, which then is a run-time dependency.
# Code says #include <cjson/cJSON.h> and links tj_cjson. TJ_CJSON_KIND tells which it is.

include(CheckCSourceCompiles)

add_library(tj_cjson INTERFACE)

function(tj_cjson_from_source)
  foreach(file cJSON.c cJSON.h)
    if(NOT EXISTS ${TJ_CJSON_SOURCE_DIR}/${file})
      message(FATAL_ERROR "TJ_CJSON_SOURCE_DIR=${TJ_CJSON_SOURCE_DIR} has no ${file}")
    endif()
  endforeach()
  configure_file(${TJ_CJSON_SOURCE_DIR}/cJSON.h ${PROJECT_BINARY_DIR}/cjson/include/cjson/cJSON.h COPYONLY)
  # Every parse writes the place of its error to one static variable, a data race between threads. We never read it.
  file(READ ${TJ_CJSON_SOURCE_DIR}/cJSON.c text)
  string(REPLACE "static error global_error" "static _Thread_local error global_error" patched "${text}")
  if(patched STREQUAL text)
    message(WARNING "${TJ_CJSON_SOURCE_DIR}/cJSON.c has no \"static error global_error\" to make thread-local")
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/cjson/cJSON.c CONTENT "@patched@" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TJ_CJSON_SOURCE_DIR}/cJSON.c)
  add_library(tj_cjson_objects OBJECT ${PROJECT_BINARY_DIR}/cjson/cJSON.c)
  target_include_directories(tj_cjson_objects PRIVATE ${PROJECT_BINARY_DIR}/cjson/include/cjson)
  # Not our code: our warnings do not apply.
  target_compile_options(tj_cjson_objects PRIVATE -w -fvisibility=hidden -ffunction-sections -fdata-sections)
  if(TJ_SANITIZE)
    target_compile_options(tj_cjson_objects PRIVATE -fsanitize=${TJ_SANITIZE})
  endif()
  target_include_directories(tj_cjson SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/cjson/include)
endfunction()

# Debian and others ship archives that a shared library cannot link; only a link tells.
function(tj_cjson_static_usable archive include_dir out)
  set(CMAKE_REQUIRED_INCLUDES ${include_dir})
  set(CMAKE_REQUIRED_FLAGS "-fPIC -shared")
  set(CMAKE_REQUIRED_LIBRARIES ${archive} m)
  check_c_source_compiles("#include <cjson/cJSON.h>
    int tj_probe(void) { return cJSON_Parse(\"1\") != 0; } int main(void) { return 0; }" TJ_CJSON_STATIC_USABLE)
  set(${out} ${TJ_CJSON_STATIC_USABLE} PARENT_SCOPE)
endfunction()

if(TJ_CJSON_SOURCE_DIR)
  tj_cjson_from_source()
  set(TJ_CJSON_KIND source)
else()
  find_path(TJ_CJSON_INCLUDE_DIR cjson/cJSON.h DOC "Folder with cjson/cJSON.h")
  find_library(TJ_CJSON_STATIC libcjson.a DOC "Static cJSON")
  find_library(TJ_CJSON_SHARED cjson DOC "Shared cJSON")
  if(NOT TJ_CJSON_INCLUDE_DIR OR NOT (TJ_CJSON_STATIC OR TJ_CJSON_SHARED))
    message(FATAL_ERROR "cJSON not found: install libcjson-dev (cjson-devel), or set TJ_CJSON_SOURCE_DIR to its source")
  endif()
  set(usable FALSE)
  if(TJ_CJSON_STATIC)
    tj_cjson_static_usable(${TJ_CJSON_STATIC} ${TJ_CJSON_INCLUDE_DIR} usable)
  endif()
  target_include_directories(tj_cjson SYSTEM INTERFACE ${TJ_CJSON_INCLUDE_DIR})
  if(usable)
    target_link_libraries(tj_cjson INTERFACE ${TJ_CJSON_STATIC})
    set(TJ_CJSON_KIND static)
  elseif(TJ_CJSON_SHARED)
    target_link_libraries(tj_cjson INTERFACE ${TJ_CJSON_SHARED})
    set(TJ_CJSON_KIND shared)
  else()
    message(FATAL_ERROR "${TJ_CJSON_STATIC} is not position-independent, and there is no shared cJSON: "
                        "set TJ_CJSON_SOURCE_DIR to its source")
  endif()
endif()
message(STATUS "cJSON: ${TJ_CJSON_KIND}")
