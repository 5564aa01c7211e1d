// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/job_diagnosis.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/diagnosis/detail/diagnosis_part.hpp>

#include <utility>

namespace elastic {

ELASTIC_DECL void add_diagnosis(agent_services& services, job_diagnosis terms) {
  add_part(services, "diagnosis", [terms = std::move(terms)](agent_part::context context) {
    return detail::new_shared<detail::diagnosis_part>(terms, std::move(context));
  });
}

}  // namespace elastic
