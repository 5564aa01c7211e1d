# Builds and runs the project beside this file with the library reached by WAY.
# cmake -D WAY=… -D ELASTIC_SOURCE=… -D ELASTIC_BINARY=… -D BINARY=… -D CXX=… -D GENERATOR=…
#   -D NO_RING=… -P consume.cmake

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "exit status ${status}")
  endif()
endfunction()

file(REMOVE_RECURSE "${BINARY}")
set(options -D "WAY=${WAY}" -D "ELASTIC_SOURCE=${ELASTIC_SOURCE}" -D "CMAKE_CXX_COMPILER=${CXX}"
  -D "ELASTIC_NO_RING=${NO_RING}")
if(WAY STREQUAL "find_package")
  # Moved after the installation: a package must not know where it was installed first.
  run("${CMAKE_COMMAND}" --install "${ELASTIC_BINARY}" --prefix "${BINARY}/first")
  file(RENAME "${BINARY}/first" "${BINARY}/prefix")
  list(APPEND options -D "CMAKE_PREFIX_PATH=${BINARY}/prefix")
  if(EXISTS "${ELASTIC_BINARY}/elasticrun")
    run("${BINARY}/prefix/bin/elasticrun" --version)
  endif()
endif()
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/project" -B "${BINARY}/build"
  -G "${GENERATOR}" ${options})
run("${CMAKE_COMMAND}" --build "${BINARY}/build")
run("${BINARY}/build/consumer")
