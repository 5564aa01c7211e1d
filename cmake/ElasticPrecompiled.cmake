# elastic_precompile(<name> <target> <header>...)   makes a file of what these headers declare
# elastic_use_precompiled(<name> <target>...)       has targets read that file before all else
#
# Most of the time of a unit that tests a little goes into the headers of Asio, fmt, JSON and the
# standard library. Off by default: ccache keeps no object of a unit that reads such a file, a
# change of any of these headers compiles everything, and an include that a unit forgot is not seen.
option(ELASTIC_PRECOMPILE "Read the most used headers once; for builds from nothing" OFF)
# By default CMake makes them system headers, whose warnings nobody sees.
set(CMAKE_PCH_PROLOGUE "")

# <target> says how the headers are compiled: as everything that links it.
function(elastic_precompile name target)
  if(ELASTIC_PRECOMPILE)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "")
    add_library(${name} OBJECT "${source}")
    target_link_libraries(${name} PRIVATE ${target} elastic_warnings)
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endif()
endfunction()

function(elastic_use_precompiled name)
  if(ELASTIC_PRECOMPILE)
    foreach(target IN LISTS ARGN)
      target_precompile_headers(${target} REUSE_FROM ${name})
    endforeach()
  endif()
endfunction()
