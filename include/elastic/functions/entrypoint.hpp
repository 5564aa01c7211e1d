// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/task.hpp>
#include <elastic/contract/error_file.hpp>
#include <elastic/contract/function_call.hpp>
#include <elastic/functions/detail/call_value.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// A function with its name, whose parameters and result are JSON.
struct registered_function {
  std::string name = {};
  /// Calls the function with an array of arguments. Errors: those of `check`, and exceptions of the
  /// function.
  std::function<nlohmann::json(const nlohmann::json& arguments)> run = {};
  /// Checks that the arguments fit. Errors: `errc::invalid_argument`; the message names the
  /// argument that does not.
  std::function<void(const nlohmann::json& arguments)> check = {};
};

/// The functions of this program. Thread-safe.
class function_table {
 public:
  ELASTIC_DECL static function_table& here();
  ELASTIC_DECL void add(std::shared_ptr<const registered_function> entry);
  ELASTIC_DECL void remove(const registered_function* entry) noexcept;

  /// Errors: `errc::invalid_argument` if no function has this name, or several.
  ELASTIC_DECL std::shared_ptr<const registered_function> find(const std::string& name);

  /// Notes that main has called `run_entrypoint`. A program that does not call it would run its
  /// main again in each worker.
  ELASTIC_DECL void set_main_asks();
  ELASTIC_DECL bool main_asks();

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<const registered_function>> all_;
  bool main_asks_ = false;
};

template <class T>
struct result_of {
  using type = T;
  static constexpr bool is_task = false;
};
template <class T>
struct result_of<task<T>> {
  using type = T;
  static constexpr bool is_task = true;
};

/// Runs a coroutine to its end on this thread, on its own io_context.
ELASTIC_DECL void run_to_end(task<void> work);

/// Calls a function and converts its result to JSON; a returned task is run to its end.
template <class R, class Call>
nlohmann::json json_of_call(Call call) {
  using value_type = typename result_of<R>::type;
  if constexpr (!result_of<R>::is_task && std::is_void_v<R>) {
    call();
    return nullptr;
  } else if constexpr (!result_of<R>::is_task) {
    nlohmann::json value = call();
    return value;
  } else if constexpr (std::is_void_v<value_type>) {
    run_to_end(call());
    return nullptr;
  } else {
    std::optional<value_type> result;
    run_to_end(keep_result(call(), result));
    nlohmann::json value = *std::move(result);
    return value;
  }
}

template <class T>
concept json_argument = !std::is_pointer_v<T> && std::is_constructible_v<nlohmann::json, T> &&
                        requires(const nlohmann::json& value) { value.template get<T>(); };

template <class T>
concept json_result = std::is_void_v<typename result_of<T>::type> ||
                      std::is_constructible_v<nlohmann::json, typename result_of<T>::type>;

template <class T>
T argument_of(const std::string& function, const nlohmann::json& arguments, std::size_t place) {
  try {
    return arguments[place].template get<T>();
  } catch (const nlohmann::json::exception& failure) {
    throw error(errc::invalid_argument,
                fmt::format("argument {} of function '{}' does not fit: {}", place + 1, function,
                            json_complaint(failure.what())));
  }
}

template <class... P, std::size_t... Place>
std::tuple<P...> arguments_of(const std::string& function, const nlohmann::json& arguments,
                              std::index_sequence<Place...>) {
  if (!arguments.is_array() || arguments.size() != sizeof...(P)) {
    throw error(errc::invalid_argument,
                fmt::format("function '{}' takes {} arguments, {} were given", function,
                            sizeof...(P), arguments.is_array() ? arguments.size() : 0));
  }
  return std::tuple<P...>{argument_of<P>(function, arguments, Place)...};
}

}  // namespace detail

/// A function that workers can run: see `entrypoint<R(P...)>`.
template <class Signature>
class entrypoint;

/// A function that workers can run, under a name that the program knows in every process:
///
///     const elastic::entrypoint train("train", [](int epochs, std::string path) {
///       …
///       return loss;
///     });
///
///     int main() {
///       if (const auto code = elastic::run_entrypoint()) return *code;
///       …
///       const elastic::run_result result = co_await elastic::launch(config, train, 3, "x");
///       result.value_of<double>(0);
///     }
///
/// Its parameters (by value or const&) and its result may have any type that nlohmann/json
/// converts; it may also return nothing, or a `task` of such a type, which is run to its end.
///
/// A worker is a new process of the same program, which knows the function only if the object
/// exists before main calls `run_entrypoint`, so define it at namespace scope. The function
/// captures values of that new process, not of the launching one (but see
/// `launch_config::start_method`).
///
/// Errors: none here; two functions with the same name are refused when the name is used.
/// Thread-safety: may be created and destroyed on any thread. It must live while a job runs it.
template <class R, class... P>
class entrypoint<R(P...)> {
  static_assert((... && detail::json_argument<std::decay_t<P>>),
                "each parameter must be of a type that nlohmann/json converts both ways");
  static_assert((... &&
                 !(std::is_lvalue_reference_v<P> && !std::is_const_v<std::remove_reference_t<P>>)),
                "a parameter that is a reference to what can be changed leads nowhere: the "
                "function runs in another process");
  static_assert(detail::json_result<R>, "the result must be of a type that nlohmann/json converts");

 public:
  template <class Function>
  entrypoint(std::string name, Function function) {
    const auto entry = detail::new_shared<detail::registered_function>();
    entry->run = [name, function = std::move(function)](const nlohmann::json& values) mutable {
      auto arguments = decoded(name, values);
      return detail::json_of_call<R>(
          [&]() -> R { return std::apply(function, std::move(arguments)); });
    };
    entry->check = [name](const nlohmann::json& values) { decoded(name, values); };
    entry->name = std::move(name);
    function_ = entry;
    detail::function_table::here().add(entry);
  }
  entrypoint(const entrypoint&) = delete;
  entrypoint& operator=(const entrypoint&) = delete;
  ~entrypoint() { detail::function_table::here().remove(function_.get()); }

  const std::string& name() const { return function_->name; }

  /// The call of this function with these arguments, for `worker_spec::function`.
  /// Errors: `errc::invalid_argument` if one cannot be represented in JSON.
  function_call call(std::decay_t<P>... arguments) const {
    function_call made;
    made.name = name();
    nlohmann::json list = nlohmann::json::array();
    (list.push_back(nlohmann::json(std::move(arguments))), ...);
    made.arguments = detail::call_text(list, limits::function_arguments_bytes,
                                       detail::arguments_name(made.name));
    validate(made);
    return made;
  }

 private:
  static std::tuple<std::decay_t<P>...> decoded(const std::string& name,
                                                const nlohmann::json& values) {
    return detail::arguments_of<std::decay_t<P>...>(name, values, std::index_sequence_for<P...>());
  }

  std::shared_ptr<const detail::registered_function> function_;
};

namespace detail {

template <class Function>
struct call_signature;
template <class R, class... P>
struct call_signature<std::function<R(P...)>> {
  using type = R(P...);
};

}  // namespace detail

template <class Function>
entrypoint(std::string, Function)
    -> entrypoint<
        typename detail::call_signature<decltype(std::function(std::declval<Function>()))>::type>;

/// Runs the function for which an agent has started this process, if it has. main must call it
/// before anything else: `if (const auto code = elastic::run_entrypoint()) return *code;`.
///
/// Exceptions of the function are reported as by `record`, and reach the agent even if there are no
/// files. A return value over `limits::return_value_bytes` (less with more than 16 workers on a
/// node), or one that JSON cannot represent, is also a failure of the worker. The function's
/// standard input is empty, and `is_worker()` is true.
///
/// Result: the exit code for main to return; empty if this process is not such a worker, so that
/// main continues.
/// Errors: none. Thread-safety: once per process, on the main thread, before there are others.
ELASTIC_DECL std::optional<int> run_entrypoint();

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/functions/impl/entrypoint.ipp>
#endif
