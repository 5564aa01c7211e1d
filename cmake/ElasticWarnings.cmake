# What this repository's own programs and tests are compiled with; consumers never get it.
add_library(elastic_warnings INTERFACE)
target_compile_options(elastic_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow)
if(ELASTIC_WARNINGS_AS_ERRORS)
  target_compile_options(elastic_warnings INTERFACE -Werror)
endif()

# With a sanitizer g++ 12 sees a mismatch of new and delete in the frames of coroutines, and
# uninitialised memory in std::function and std::optional, where there is none.
set(elastic_sanitizer_warnings)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(elastic_sanitizer_warnings -Wno-mismatched-new-delete -Wno-maybe-uninitialized)
endif()
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
  target_compile_options(elastic_warnings INTERFACE ${elastic_sanitizer_warnings})
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE MATCHES "^Rel")
  # The first of them without a sanitizer, too, if it optimizes.
  target_compile_options(elastic_warnings INTERFACE -Wno-mismatched-new-delete)
endif()
