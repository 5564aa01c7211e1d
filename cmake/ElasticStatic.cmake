# What ELASTIC_STATIC links elasticrun with. The C library stays shared: host names are looked up by
# modules that belong to it.
include(CheckCXXSourceRuns)
include(CheckLinkerFlag)

set(elastic_static_options -static-libstdc++ -static-libgcc -Wl,--gc-sections)

# Symbols of the archives that no other library is to see. Not every linker can hide them.
check_linker_flag(CXX -Wl,--exclude-libs,ALL ELASTIC_HAS_EXCLUDE_LIBS)
if(ELASTIC_HAS_EXCLUDE_LIBS)
  list(APPEND elastic_static_options -Wl,--exclude-libs,ALL)
endif()

# 25,000 relocations, of the tables of OpenSSL mostly, as bits instead of 24 bytes each: 0.6 MB that
# the loader reads at each start. It takes a linker and a C library (glibc 2.36) that know of them;
# what the C library of another machine knows cannot be tried here.
if(NOT CMAKE_CROSSCOMPILING)
  set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,pack-relative-relocs)
  check_cxx_source_runs("int main() {}" ELASTIC_HAS_PACKED_RELOCATIONS)
  set(CMAKE_REQUIRED_LINK_OPTIONS)
  if(ELASTIC_HAS_PACKED_RELOCATIONS)
    list(APPEND elastic_static_options -Wl,-z,pack-relative-relocs)
  endif()
endif()
