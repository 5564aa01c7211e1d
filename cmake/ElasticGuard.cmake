# The guard as a program of its own, for those who want to run an installed file and not the bytes
# that the library carries. It has no library: see include/elastic/process/guard/guard.cpp.
if(ELASTIC_BUILD_PROGRAM AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
    AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|aarch64)$")
  find_package(Python3 COMPONENTS Interpreter)
  if(Python3_Interpreter_FOUND)
    set(elastic_guard "${CMAKE_CURRENT_BINARY_DIR}/elastic-guard")
    add_custom_command(OUTPUT "${elastic_guard}"
      COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/scripts/guard_image.py"
        --build "${CMAKE_SYSTEM_PROCESSOR}" "${elastic_guard}" --compiler "${CMAKE_CXX_COMPILER}"
      DEPENDS include/elastic/process/guard/guard.cpp include/elastic/process/guard/guard.ld
        scripts/guard_image.py include/elastic/process/detail/guard_protocol.hpp
      VERBATIM)
    add_custom_target(guard_program ALL DEPENDS "${elastic_guard}")
  endif()
endif()
