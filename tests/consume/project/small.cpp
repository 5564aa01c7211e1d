// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/error.hpp>
#include <elastic/base/version.hpp>

#include <cstdio>

int main() { std::printf("%s %s\n", elastic::error_category().name(), elastic::version_text); }
