# Builds and runs the project beside this file with the library reached by WAY, in MODE.
# cmake -D WAY=find_package|add_subdirectory|fetch_content|cpm|single_header|source -D MODE=MODE
#   -D ELASTIC_SOURCE=… -D ELASTIC_BINARY=… -D BINARY=… -D CXX=… -D LAUNCHER=… -D GENERATOR=…
#   -D NO_RING=… -D BOOST_ROOT=… -D CPM=… -P consume.cmake
#
# MODE is header_only, compiled, parts for a library without CMake in four units, process for a
# program of processes alone, or small for one that is soon compiled; on Boost.Asio compiled_boost,
# or boost for a program that is soon compiled with the headers alone.

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "exit status ${status}")
  endif()
endfunction()

file(REMOVE_RECURSE "${BINARY}")
set(options -D "WAY=${WAY}" -D "MODE=${MODE}" -D "ELASTIC_SOURCE=${ELASTIC_SOURCE}"
  -D "CMAKE_CXX_COMPILER=${CXX}" -D "CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
  -D "ELASTIC_NO_RING=${NO_RING}")
if(BOOST_ROOT)
  list(APPEND options -D "BOOST_ROOT=${BOOST_ROOT}")
endif()
if(WAY STREQUAL "cpm")
  list(APPEND options -D "CPM=${CPM}")
endif()
if(MODE STREQUAL "process")
  foreach(package OpenSSL nlohmann_json Liburing)
    list(APPEND options -D "CMAKE_DISABLE_FIND_PACKAGE_${package}=ON")
  endforeach()
endif()
if(WAY STREQUAL "find_package")
  # Moved after the installation: a package must not know where it was installed first.
  execute_process(COMMAND "${CMAKE_COMMAND}" --install "${ELASTIC_BINARY}"
    --prefix "${BINARY}/first" RESULT_VARIABLE status OUTPUT_QUIET)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "cannot install from ${ELASTIC_BINARY}; was it built?")
  endif()
  file(RENAME "${BINARY}/first" "${BINARY}/prefix")
  list(APPEND options -D "CMAKE_PREFIX_PATH=${BINARY}/prefix")
  if(EXISTS "${ELASTIC_BINARY}/elasticrun")
    run("${BINARY}/prefix/bin/elasticrun" --version)
    foreach(file man/man1/elasticrun.1 bash-completion/completions/elasticrun
        zsh/site-functions/_elasticrun fish/vendor_completions.d/elasticrun.fish)
      file(READ "${BINARY}/prefix/share/${file}" text)
      if(text STREQUAL "")
        message(FATAL_ERROR "nothing is in share/${file}")
      endif()
    endforeach()
  endif()
endif()
if(NOT CXX MATCHES "clang")
  # As cmake/ElasticWarnings.cmake: less looking for garbage, the same code.
  list(APPEND options -D
    "CMAKE_CXX_FLAGS=--param ggc-min-heapsize=600000 --param ggc-min-expand=100")
endif()
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/project" -B "${BINARY}/build"
  -G "${GENERATOR}" ${options})
run("${CMAKE_COMMAND}" --build "${BINARY}/build" --parallel 2)
if(MODE STREQUAL "small")
  # The whole project: the compiled library, which nobody links, is not built.
  file(GLOB_RECURSE libraries "${BINARY}/build/libelastic*")
  if(libraries)
    message(FATAL_ERROR "a header-only user had to build ${libraries}")
  endif()
endif()
run("${BINARY}/build/consumer")

# Without CMake: pkg-config says what a compiled library needs.
find_program(pkg_config pkg-config)
set(package elastic)
set(more_includes)
if(MODE STREQUAL "compiled_boost")
  set(package elastic_boost)
  set(more_includes -isystem "${BOOST_ROOT}/include")
endif()
if(WAY STREQUAL "find_package" AND MODE MATCHES "^compiled" AND pkg_config)
  file(WRITE "${BINARY}/by_pkg_config.cpp" "#include <elastic/base/printable_text.hpp>\n"
    "#include <elastic/base/task.hpp>\n"
    "int main() { return elastic::in_quotes(\"it\") == \"'it'\" ? 0 : 1; }\n")
  file(GLOB_RECURSE description "${BINARY}/prefix/${package}.pc")
  get_filename_component(folder "${description}" DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} "${folder}")
  list(JOIN more_includes " " more_includes)
  run(sh -c "'${CXX}' -std=c++20 ${more_includes} '${BINARY}/by_pkg_config.cpp' \
    -o '${BINARY}/by_pkg_config' $('${pkg_config}' --cflags --libs ${package})")
  run("${BINARY}/by_pkg_config")
endif()
