// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// host PLUGIN...: opens plugins, prints the version of each, and uses them one after the other and
// all at the same time. The exit status says whether each use worked.

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

template <typename Function>
Function* symbol(void* plugin, const char* name) {
  void* const found = plugin ? ::dlsym(plugin, name) : nullptr;
  if (!found) {
    std::printf("%s\n", ::dlerror());
    std::exit(2);
  }
  return reinterpret_cast<Function*>(found);
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<bool (*)()> plugins;
  for (int place = 1; place < count; ++place) {
    void* const plugin = ::dlopen(arguments[place], RTLD_NOW | RTLD_LOCAL);
    std::printf("%s\n", symbol<const char*()>(plugin, "plugin_version")());
    plugins.push_back(symbol<bool()>(plugin, "plugin_works"));
  }
  std::atomic<int> failures = 0;
  const auto use = [&failures](bool (*works)()) {
    if (!works()) ++failures;
  };
  for (const auto works : plugins) use(works);
  std::vector<std::jthread> threads;
  for (int again = 0; again < 4; ++again) {
    for (const auto works : plugins) threads.emplace_back(use, works);
  }
  threads.clear();
  return failures == 0 ? 0 : 1;
}
