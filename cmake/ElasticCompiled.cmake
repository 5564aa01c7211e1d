# elastic::compiled: the same library, compiled once; elastic::compiled_boost on Boost.Asio. Its
# translation units take about the same time, so that no core waits for another. Each unit first
# reads headers, which takes as long as the definitions of a small module: fewer units take less in
# all, but more memory each.
#
# Static, or shared if BUILD_SHARED_LIBS says so. In another project it is built if something links
# it. Symbols are hidden, so that a plugin with a copy of a static library shows none of them; a
# shared library exports what base/config.hpp says. A version 0.x may change what it exports, so the
# soname has the minor version until 1.0.
set(elastic_units 18)
# How long each file of definitions takes, apart from its headers: benchmarks/compile.py --seconds.
set(elastic_costs "${CMAKE_CURRENT_SOURCE_DIR}/cmake/compile_milliseconds.txt")

# Writes the units, and sets elastic_sources to their names.
function(elastic_write_units)
  set(include "${CMAKE_CURRENT_SOURCE_DIR}/include")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${include}" "${include}/elastic/*.ipp")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${elastic_costs}")
  file(STRINGS "${elastic_costs}" lines REGEX "^elastic/")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([^ ]+) +([0-9]+)$" line "${line}")
    set("cost_of_${CMAKE_MATCH_1}" "${CMAKE_MATCH_2}")
  endforeach()
  # A file that is not measured yet counts by its size.
  set(measured_bytes 1)
  set(all 0)
  set(new_files)
  foreach(file IN LISTS files)
    file(SIZE "${include}/${file}" "size_of_${file}")
    if(DEFINED "cost_of_${file}")
      math(EXPR measured_bytes "${measured_bytes} + ${size_of_${file}}")
      math(EXPR all "${all} + ${cost_of_${file}}")
    else()
      list(APPEND new_files "${file}")
    endif()
  endforeach()
  set(measured "${all}")
  foreach(file IN LISTS new_files)
    math(EXPR "cost_of_${file}" "${size_of_${file}} * ${measured} / ${measured_bytes}")
    math(EXPR all "${all} + ${cost_of_${file}}")
  endforeach()
  # A unit has files that follow each other: neighbours share headers.
  set(before 0)
  foreach(file IN LISTS files)
    math(EXPR unit "(${before} + ${cost_of_${file}} / 2) * ${elastic_units} / (${all} + 1) + 1")
    string(APPEND text_${unit} "#include <${file}>\n")
    math(EXPR before "${before} + ${cost_of_${file}}")
  endforeach()
  set(sources)
  foreach(unit RANGE 1 ${elastic_units})
    set(source "${CMAKE_CURRENT_BINARY_DIR}/compiled/unit_${unit}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "${text_${unit}}" @ONLY)
    list(APPEND sources "${source}")
  endforeach()
  # Units of an earlier configuration.
  file(GLOB old_sources "${CMAKE_CURRENT_BINARY_DIR}/compiled/*.cpp")
  list(REMOVE_ITEM old_sources ${sources})
  if(old_sources)
    file(REMOVE ${old_sources})
  endif()
  set(elastic_sources "${sources}" PARENT_SCOPE)
endfunction()
elastic_write_units()

if(BUILD_SHARED_LIBS AND ELASTIC_BUILD_TESTS)
  message(FATAL_ERROR "the tests use classes that a shared library hides: "
    "set ELASTIC_BUILD_TESTS=OFF or BUILD_SHARED_LIBS=OFF")
endif()

set(elastic_soversion "${PROJECT_VERSION_MAJOR}")
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(elastic_soversion "0.${PROJECT_VERSION_MINOR}")
endif()
set(elastic_common_headers
  <elastic/elastic.hpp> <elastic/base/asio.hpp> <fmt/format.h> <nlohmann/json.hpp>)
# A compiled library on an Asio: the target elastic::<name>, the file lib<file>.
function(elastic_add_compiled name file asio)
  set(when)
  if(NOT is_top_level)
    set(when EXCLUDE_FROM_ALL)
  endif()
  add_library(elastic_${name} ${when} ${elastic_sources})
  add_library(elastic::${name} ALIAS elastic_${name})
  set_target_properties(elastic_${name} PROPERTIES
    OUTPUT_NAME "${file}" EXPORT_NAME "${name}" POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    VERSION "${PROJECT_VERSION}" SOVERSION "${elastic_soversion}")
  # Where CMAKE_UNITY_BUILD joins units, as the preset "quick" does: four of them.
  set_target_properties(elastic_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 5)
  target_link_libraries(elastic_${name}
    PUBLIC "elastic::${asio}" PRIVATE "$<BUILD_INTERFACE:elastic_warnings>")
  target_compile_definitions(elastic_${name} PUBLIC ELASTIC_SEPARATE_COMPILATION=1)
  if(BUILD_SHARED_LIBS)
    target_compile_definitions(elastic_${name} PUBLIC ELASTIC_DYN_LINK=1)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ takes the lambdas in a definition file for those of a header, because it is included.
    target_compile_options(elastic_${name} PRIVATE -Wno-subobject-linkage)
  endif()
  if(ELASTIC_PRECOMPILE)
    target_precompile_headers(elastic_${name} PRIVATE ${elastic_common_headers})
  endif()
endfunction()
elastic_add_compiled(compiled elastic elastic)
# What programs of this repository read that link the library.
elastic_precompile(precompiled_library elastic::compiled ${elastic_common_headers})
if(ELASTIC_WITH_BOOST)
  elastic_add_compiled(compiled_boost elastic_boost elastic_boost)
endif()
