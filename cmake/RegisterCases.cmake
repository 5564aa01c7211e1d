# elastic_register_cases(<target>
#   LABELS <label>... [SUFFIX <text>] [LAUNCHER <command>...] [ENVIRONMENT <NAME=value>...]
#   [TIMEOUT <seconds>] [TAGS <expression>] [GROUPED])
#
# Registers every test case of a Catch2 program as a test of its own, as often as it is called, so
# that one program can be run under several circumstances: SUFFIX tells their names apart, LAUNCHER
# is a command put in front. Tags of a case that mean something here: [serial] runs while no other
# test does, [sanitize] adds the label "sanitize".
#
# With GROUPED, one process runs all cases whose names begin alike, up to the first colon: under a
# sanitizer a program takes longer to start than most cases take to run. Cases with one of these
# tags, or with [simulation], still have a process each.
#
# The cases are listed when ctest starts, not when the program is built: see ListCases.cmake.
function(elastic_register_cases target)
  cmake_parse_arguments(arg "GROUPED" "SUFFIX;TIMEOUT;TAGS" "LABELS;LAUNCHER;ENVIRONMENT" ${ARGN})
  string(MD5 id "${arg_SUFFIX}")
  string(SUBSTRING "${id}" 0 6 id)
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}_${id}.cmake")
  if(Catch2_VERSION VERSION_LESS 3)
    set(list_command --list-test-names-only)
    set(run_options -w NoTests)
  else()
    set(list_command --list-tests --verbosity quiet)
    set(run_options)
  endif()
  file(GENERATE OUTPUT "${file}" CONTENT
"set(program [==[$<TARGET_FILE:${target}>]==])
set(list_command [==[${list_command}]==])
set(run_options [==[${run_options}]==])
set(tags [==[${arg_TAGS}]==])
set(suffix [==[${arg_SUFFIX}]==])
set(launcher [==[${arg_LAUNCHER}]==])
set(environment [==[${arg_ENVIRONMENT}]==])
set(labels [==[${arg_LABELS}]==])
set(timeout [==[${arg_TIMEOUT}]==])
set(is_grouped [==[${arg_GROUPED}]==])
include([==[${PROJECT_SOURCE_DIR}/cmake/ListCases.cmake]==])
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}")
endfunction()
