# What ELASTIC_STATIC=AUTO stands for: ON where each library of elasticrun is there as an archive,
# as on Debian and Ubuntu; else OFF, and a line that says what is missing.
include(CheckCXXSourceCompiles)

set(elastic_missing_archives)
set(CMAKE_REQUIRED_LINK_OPTIONS -static-libstdc++ -static-libgcc)
check_cxx_source_compiles("#include <string>\nint main() { return std::stoi(\"0\"); }"
  ELASTIC_HAS_STATIC_RUNTIME)
set(CMAKE_REQUIRED_LINK_OPTIONS)
if(NOT ELASTIC_HAS_STATIC_RUNTIME)
  list(APPEND elastic_missing_archives libstdc++.a)
endif()

# What an earlier configuration has found is forgotten if it was no archive.
macro(elastic_need_archive name result)
  find_library(ELASTIC_ARCHIVE_${name} ${name})
  mark_as_advanced(ELASTIC_ARCHIVE_${name})
  if(NOT ELASTIC_ARCHIVE_${name})
    list(APPEND elastic_missing_archives ${name})
  elseif(NOT "${${result}}" MATCHES "\\.a$")
    unset(${result} CACHE)
  endif()
endmacro()
if(NOT ELASTIC_NO_RING)
  elastic_need_archive(liburing.a Liburing_LIBRARY)
endif()
# Not find_package: the targets that it makes would be those of the shared libraries.
find_path(ELASTIC_OPENSSL_HEADERS openssl/ssl.h)
mark_as_advanced(ELASTIC_OPENSSL_HEADERS)
if(ELASTIC_OPENSSL_HEADERS AND (ELASTIC_WITH_TLS OR NOT DEFINED ELASTIC_WITH_TLS))
  elastic_need_archive(libssl.a OPENSSL_SSL_LIBRARY)
  elastic_need_archive(libcrypto.a OPENSSL_CRYPTO_LIBRARY)
endif()

set(ELASTIC_STATIC ON)
if(elastic_missing_archives OR BUILD_SHARED_LIBS)
  set(ELASTIC_STATIC OFF)
endif()
if(elastic_missing_archives)
  list(JOIN elastic_missing_archives " " elastic_missing_archives)
  message(STATUS
    "elasticrun needs shared libraries, which take 2 ms to load: no ${elastic_missing_archives}")
endif()
