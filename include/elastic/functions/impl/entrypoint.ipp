// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/functions/entrypoint.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/json.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/detail/call_memfd.hpp>
#include <elastic/worker/record.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace elastic {

namespace detail {

ELASTIC_DECL function_table& function_table::here() {
  static function_table table;
  return table;
}

ELASTIC_DECL void function_table::add(std::shared_ptr<const registered_function> entry) {
  const std::lock_guard<std::mutex> hold(mutex_);
  all_.push_back(std::move(entry));
}

ELASTIC_DECL void function_table::remove(const registered_function* entry) noexcept {
  const std::lock_guard<std::mutex> hold(mutex_);
  std::erase_if(all_, [&](const auto& kept) { return kept.get() == entry; });
}

ELASTIC_DECL std::shared_ptr<const registered_function> function_table::find(
    const std::string& name) {
  const std::lock_guard<std::mutex> hold(mutex_);
  std::shared_ptr<const registered_function> match;
  std::string names;
  for (const auto& entry : all_) {
    if (!names.empty()) names += ", ";
    names += "'" + entry->name + "'";
    if (entry->name != name) continue;
    if (match) {
      throw error(errc::invalid_argument,
                  fmt::format("two functions of this program are registered as '{}'", name));
    }
    match = entry;
  }
  if (match) return match;
  throw error(errc::invalid_argument,
              fmt::format("no function of this program is registered as '{}'; registered: {}", name,
                          names.empty() ? "none" : names));
}

ELASTIC_DECL void function_table::set_main_asks() {
  const std::lock_guard<std::mutex> hold(mutex_);
  main_asks_ = true;
}

ELASTIC_DECL bool function_table::main_asks() {
  const std::lock_guard<std::mutex> hold(mutex_);
  return main_asks_;
}

ELASTIC_DECL void run_to_end(task<void> work) {
  asio::io_context context(1);
  bool has_ended = false;
  std::exception_ptr failure;
  asio::co_spawn(context, std::move(work), [&](std::exception_ptr thrown) {
    has_ended = true;
    failure = thrown;
  });
  context.run();
  if (failure) std::rethrow_exception(failure);
  if (!has_ended) {
    throw error(errc::stopped, "the function waits for something that can no longer come");
  }
}

/// Runs the function of this name with the agent's arguments, and leaves its result or exception as
/// the answer. Result: the exit code of the worker.
inline int answer_call(const std::string& name) {
  call_memfd sheet;
  try {
    sheet = call_memfd::take();
    const auto function = function_table::here().find(name);
    const nlohmann::json arguments = call_value(sheet.arguments(), arguments_name(name));
    const nlohmann::json value = function->run(arguments);
    sheet.leave(
        call_answer::content::value,
        call_text(value, sheet.room(), fmt::format("the return value of function '{}'", name)));
    return 0;
  } catch (...) {
    const std::exception_ptr thrown = std::current_exception();
    const auto now = system_time().wall_now().time_since_epoch();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now).count();
    leave_error(thrown, std::getenv("TORCHELASTIC_ERROR_FILE"), seconds);
    try {
      const std::string text =
          error_file_text(exception_message(thrown), exception_chain(thrown), seconds);
      if (text.size() <= sheet.room()) sheet.leave(call_answer::content::failure, text);
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "%s\n", failure.what());
    }
    return 1;
  }
}

}  // namespace detail

ELASTIC_DECL std::optional<int> run_entrypoint() {
  detail::function_table::here().set_main_asks();
  const char* const variable = std::getenv(entrypoint_variable);
  if (!variable) return std::nullopt;
  const std::string name = variable;
  // Processes that the function starts must not run it again.
  ::unsetenv(entrypoint_variable);
  return detail::answer_call(name);
}

}  // namespace elastic
