# Builds and runs the project beside this file with the library reached by WAY, in MODE.
# cmake -D WAY=find_package|add_subdirectory|single_header|source -D MODE=header_only|compiled
#   -D ELASTIC_SOURCE=… -D ELASTIC_BINARY=… -D BINARY=… -D CXX=… -D LAUNCHER=… -D GENERATOR=…
#   -D NO_RING=… -P consume.cmake

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
  endif()
endif()
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/project" -B "${BINARY}/build"
  -G "${GENERATOR}" ${options})
run("${CMAKE_COMMAND}" --build "${BINARY}/build" --parallel 2)
if(WAY STREQUAL "add_subdirectory" AND MODE STREQUAL "header_only")
  # The whole project: the compiled library, which nobody links, is not built.
  file(GLOB_RECURSE libraries "${BINARY}/build/libelastic*")
  if(libraries)
    message(FATAL_ERROR "a header-only user had to build ${libraries}")
  endif()
endif()
run("${BINARY}/build/consumer")
