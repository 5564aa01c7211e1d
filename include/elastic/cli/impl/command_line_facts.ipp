// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/command_line_facts.hpp>

#include <elastic/cli/default_python.hpp>
#include <elastic/cli/machine.hpp>

#include <unistd.h>

namespace elastic {

ELASTIC_DECL command_line_facts gather_command_line_facts() {
  command_line_facts facts;
  facts.environment = environment_from(environ);
  facts.processors = count_processors();
  facts.accelerators = count_accelerators(facts.environment);
  facts.python = default_python();
  facts.python_warning = python_warning(facts.environment, facts.python);
  return facts;
}

}  // namespace elastic
