# What this repository's own programs and tests are compiled with; consumers never get it.
add_library(elastic_warnings INTERFACE)
target_compile_options(elastic_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow)
if(ELASTIC_WARNINGS_AS_ERRORS)
  target_compile_options(elastic_warnings INTERFACE -Werror)
endif()

# With a sanitizer, or if it optimizes, g++ 12 sees a mismatch of new and delete in the frames of
# coroutines, and uninitialised memory in std::function, std::optional and std::variant, where
# there is none.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
    AND (CMAKE_CXX_FLAGS MATCHES "-fsanitize=" OR CMAKE_BUILD_TYPE MATCHES "^Rel"))
  target_compile_options(elastic_warnings INTERFACE
    -Wno-mismatched-new-delete -Wno-maybe-uninitialized)
endif()

# g++ warns of fences in headers of Asio, which ThreadSanitizer does not see.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
  target_compile_options(elastic_warnings INTERFACE -Wno-tsan)
endif()

# By default g++ looks for garbage half a dozen times in a unit of ours and finds little: a seventh
# of the time to compile it, for a fifth of the memory.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND is_top_level)
  target_compile_options(elastic_warnings INTERFACE
    "SHELL:--param ggc-min-heapsize=600000" "SHELL:--param ggc-min-expand=100")
endif()
