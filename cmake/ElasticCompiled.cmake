# elastic::compiled: the same library, compiled once. One translation unit for each folder of
# headers, so that two cores have the same to do and none of them needs much memory.
#
# Static, or shared if BUILD_SHARED_LIBS says so. In another project it is built if something links
# it.
set(elastic_include "${CMAKE_CURRENT_SOURCE_DIR}/include")
file(GLOB_RECURSE elastic_definitions CONFIGURE_DEPENDS RELATIVE "${elastic_include}"
  "${elastic_include}/elastic/*.ipp")

set(elastic_units)
foreach(definitions IN LISTS elastic_definitions)
  string(REGEX REPLACE "^elastic/(.*)/impl/[^/]*$" "\\1" folder "${definitions}")
  string(REPLACE "/" "_" unit "${folder}")
  list(APPEND elastic_units "${unit}")
  set_property(GLOBAL APPEND_STRING PROPERTY "elastic_unit_${unit}" "#include <${definitions}>\n")
endforeach()
list(REMOVE_DUPLICATES elastic_units)
set(elastic_sources)
foreach(unit IN LISTS elastic_units)
  get_property(text GLOBAL PROPERTY "elastic_unit_${unit}")
  set(source "${CMAKE_CURRENT_BINARY_DIR}/compiled/${unit}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "${text}" @ONLY)
  list(APPEND elastic_sources "${source}")
endforeach()

set(elastic_when)
if(NOT is_top_level)
  set(elastic_when EXCLUDE_FROM_ALL)
endif()
add_library(elastic_compiled ${elastic_when} ${elastic_sources})
add_library(elastic::compiled ALIAS elastic_compiled)
set_target_properties(elastic_compiled PROPERTIES
  OUTPUT_NAME elastic EXPORT_NAME compiled POSITION_INDEPENDENT_CODE ON
  VERSION "${PROJECT_VERSION}" SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
target_link_libraries(elastic_compiled
  PUBLIC elastic::elastic PRIVATE "$<BUILD_INTERFACE:elastic_warnings>")
target_compile_definitions(elastic_compiled PUBLIC ELASTIC_SEPARATE_COMPILATION=1)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ takes the lambdas in a definition file for those of a header, because it is included.
  target_compile_options(elastic_compiled PRIVATE -Wno-subobject-linkage)
endif()
