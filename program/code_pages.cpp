// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/code_pages.hpp>

#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

namespace elasticrun {

namespace {

bool is_traced() {
  std::ifstream status("/proc/self/status");
  const std::string name = "TracerPid:";
  for (std::string line; std::getline(status, line);) {
    if (line.compare(0, name.size(), name) != 0) continue;
    return line.find_first_not_of(" \t0", name.size()) != line.npos;
  }
  return false;
}

// Keeps segments with relocated data: they were writable once.
int release_object(dl_phdr_info* object, std::size_t, void*) {
  // The kernel's own object (vDSO) is not a file.
  if (object->dlpi_addr == ::getauxval(AT_SYSINFO_EHDR)) return 0;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int index = 0; index < object->dlpi_phnum; ++index) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[index];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t first = begin / page * page;
    ::madvise(reinterpret_cast<void*>(first), begin + segment.p_memsz - first, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void release_code_pages() {
  if (!is_traced()) ::dl_iterate_phdr(release_object, nullptr);
}

}  // namespace elasticrun
