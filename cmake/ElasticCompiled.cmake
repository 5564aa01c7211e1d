# elastic::compiled: the same library, compiled once; elastic::compiled_boost on Boost.Asio. A
# module is one translation unit, because the headers that a unit includes cost more than the
# definitions of a small module. A large module is split into units of about the same size, so that
# two cores have the same to do and none of them needs much memory.
#
# Static, or shared if BUILD_SHARED_LIBS says so. In another project it is built if something links
# it.
set(elastic_unit_bytes 100000)

set(elastic_include "${CMAKE_CURRENT_SOURCE_DIR}/include")
file(GLOB_RECURSE elastic_definitions CONFIGURE_DEPENDS RELATIVE "${elastic_include}"
  "${elastic_include}/elastic/*.ipp")

# Writes the units of a module's definitions, and appends their names to elastic_sources.
function(elastic_write_units module)
  set(all 0)
  foreach(definitions IN LISTS ARGN)
    file(SIZE "${elastic_include}/${definitions}" size)
    math(EXPR all "${all} + ${size}")
  endforeach()
  math(EXPR count "(${all} + ${elastic_unit_bytes} - 1) / ${elastic_unit_bytes}")
  set(before 0)
  foreach(definitions IN LISTS ARGN)
    math(EXPR unit "${before} * ${count} / ${all} + 1")
    string(APPEND text_${unit} "#include <${definitions}>\n")
    file(SIZE "${elastic_include}/${definitions}" size)
    math(EXPR before "${before} + ${size}")
  endforeach()
  foreach(unit RANGE 1 ${count})
    if(DEFINED text_${unit})
      set(source "${CMAKE_CURRENT_BINARY_DIR}/compiled/${module}_${unit}.cpp")
      file(CONFIGURE OUTPUT "${source}" CONTENT "${text_${unit}}" @ONLY)
      list(APPEND elastic_sources "${source}")
    endif()
  endforeach()
  set(elastic_sources "${elastic_sources}" PARENT_SCOPE)
endfunction()

set(elastic_sources)
string(REGEX REPLACE "elastic/([^/;]+)/[^;]*" "\\1" elastic_folders "${elastic_definitions}")
list(REMOVE_DUPLICATES elastic_folders)
foreach(module IN LISTS elastic_folders)
  set(definitions ${elastic_definitions})
  list(FILTER definitions INCLUDE REGEX "^elastic/${module}/")
  elastic_write_units("${module}" ${definitions})
endforeach()
# Units of an earlier configuration.
file(GLOB elastic_old_sources "${CMAKE_CURRENT_BINARY_DIR}/compiled/*.cpp")
list(REMOVE_ITEM elastic_old_sources ${elastic_sources})
if(elastic_old_sources)
  file(REMOVE ${elastic_old_sources})
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
    VERSION "${PROJECT_VERSION}" SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
  target_link_libraries(elastic_${name}
    PUBLIC "elastic::${asio}" PRIVATE "$<BUILD_INTERFACE:elastic_warnings>")
  target_compile_definitions(elastic_${name} PUBLIC ELASTIC_SEPARATE_COMPILATION=1)
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
