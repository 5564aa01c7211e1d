# What ELASTIC_STATIC links elasticrun with. The C library stays shared: host names are looked up by
# modules that belong to it.
include(CheckCXXSourceCompiles)
include(CheckCXXSourceRuns)

set(elastic_static_options
  -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,--gc-sections)

# 25,000 relocations, of the tables of OpenSSL mostly, as bits instead of 24 bytes each: 0.6 MB that
# the loader reads at each start. It takes a linker and a C library that know of them.
set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,pack-relative-relocs)
if(CMAKE_CROSSCOMPILING)
  check_cxx_source_compiles("int main() {}" ELASTIC_HAS_PACKED_RELOCATIONS)
else()
  check_cxx_source_runs("int main() {}" ELASTIC_HAS_PACKED_RELOCATIONS)
endif()
if(ELASTIC_HAS_PACKED_RELOCATIONS)
  list(APPEND elastic_static_options -Wl,-z,pack-relative-relocs)
endif()
set(CMAKE_REQUIRED_LINK_OPTIONS)
