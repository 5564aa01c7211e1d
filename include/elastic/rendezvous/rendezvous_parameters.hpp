// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/job_secret.hpp>
#include <elastic/rendezvous/detail/node_id.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic {

namespace detail {
struct internals;
class report_exchange;
class store_meter;
}  // namespace detail

/// The parameters of a rendezvous handler: the user's settings, and the services that it may use.
/// `node_counts` and `scale_up_delay` are only for jobs without torchrun nodes.
struct rendezvous_parameters : rendezvous_settings {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  rendezvous_parameters() = default;

  /// A name in the registry: "static", "c10d".
  std::string backend = "static";
  /// Where the nodes meet, "host" or "host:port"; the meaning of an empty endpoint depends on the
  /// backend.
  std::string endpoint;
  /// Names the job: nodes with the same run id meet. Must not be empty.
  std::string run_id = "none";
  /// The name of this node, by which other nodes know it even after a restart of its agent, and
  /// which appears in logs, lists of nodes and the status page: 1 to `limits::node_name_bytes`
  /// ASCII letters, digits and punctuation characters. Empty: the host's name.
  std::string node_name;
  /// How long this node stays out of the job after it was marked as bad. 0: it may return at once.
  /// Only for jobs without torchrun nodes.
  duration exclude_for = duration::zero();
  /// This node's group rank, if the backend does not assign one (static).
  int node_rank = 0;
  /// The address that this node gives to others; empty: detected by the backend.
  std::string local_addr;
  /// Whether an agent serves the workers' store (torchrun's rule since 2.4) or the worker of rank
  /// 0 does.
  bool share_worker_store = true;
  /// Whether stores that this node serves use an io_uring if the kernel allows one.
  bool use_ring = true;
  /// Settings that are specific to the backend, by their names in `--rdzv-conf`; those of
  /// `rendezvous_settings` are refused here.
  std::map<std::string, std::string, std::less<>> conf;

  /// The job's secret: only agents that have it can take part. Empty: the one in `secret_file` of
  /// `conf`, if any.
  std::optional<job_secret> secret;

  /// How messages name a setting, which is a field of this struct or a name in `conf`. Empty:
  /// "rendezvous_parameters::run_id". `parse_command_line` sets it to the options, "--rdzv-id"; a
  /// program whose users choose settings in yet another way can do the same.
  std::function<std::string(std::string_view setting)> naming;

  std::shared_ptr<time_source> time = detail::new_shared<system_time>();
  logger log;

  /// The connections to other parts of the library, which `make_agent` makes.
  class connections {
    friend detail::internals;
    struct members {
      /// The unique id of this agent; empty: a new one. It makes a run reproducible, as rounds
      /// order nodes by it.
      std::optional<detail::node_id> identity;
      /// The exchange of reports with other nodes, for viewers of the job; null: none. Only for
      /// jobs without torchrun nodes.
      std::shared_ptr<detail::report_exchange> reports;
      /// Counts the requests to the stores that this node serves; null: they are not counted.
      std::shared_ptr<detail::store_meter> meter;
    };
    members members_;
  };
  connections internal = {};

  /// The name of a setting in messages, by `naming`.
  ELASTIC_DECL std::string name_of(std::string_view setting) const;

  /// The first part of this node's id: its name, or else the address that it gives to others;
  /// empty: the host's name.
  const std::string& shown_host() const { return node_name.empty() ? local_addr : node_name; }

  /// Sets a parameter by its name in `--rdzv-conf`: its field, or else its entry in `conf`.
  /// Errors: `errc::invalid_argument` if the field cannot have the value.
  ELASTIC_DECL void set(std::string_view name, std::string_view value);

  /// A setting of `conf` in seconds, `fallback` if it was not given.
  /// Errors: `errc::invalid_argument` if it is not a number of seconds greater than 0 and at most
  /// 1e8.
  ELASTIC_DECL duration seconds(std::string_view name, duration fallback) const;

  /// A setting of `conf` that is an integer of at least `least`; `fallback` if it was not given.
  /// Errors: `errc::invalid_argument` if the value is of another form.
  ELASTIC_DECL int whole_number(std::string_view name, int fallback, int least = 1) const;

  /// A setting of `conf` that is yes or no, as PyTorch writes them; empty if it was not given.
  /// Errors: `errc::invalid_argument` if the value is of another form.
  ELASTIC_DECL std::optional<bool> yes_or_no(std::string_view name) const;

  /// Whether ports are opened at every address of this host, not only at those that others need
  /// (setting `listen`: `all` or `own`).
  /// Errors: `errc::invalid_argument` if it is neither.
  ELASTIC_DECL bool listens_everywhere() const;

  /// Errors: `errc::invalid_argument` if `node_counts`, `scale_up_delay` or `exclude_for` is set,
  /// which `who` does not support.
  ELASTIC_DECL void refuse_choice_of_nodes(std::string_view who) const;

  /// The general settings of the rendezvous.
  /// Errors: `errc::invalid_argument` for a value out of bounds, even of a PyTorch setting that
  /// has no effect here; if `time` is null.
  ELASTIC_DECL rendezvous_settings settings() const;

  /// `secret`, or the content of the file that `secret_file` names; empty if there is neither.
  /// Errors: those of `job_secret::read`; `errc::invalid_argument` if there are both.
  ELASTIC_DECL std::optional<job_secret> chosen_secret() const;

  /// Warns of settings that belong to other backends of this library but not to `backend`, whose
  /// settings are in `used`. Values are not shown, because one may be a password.
  /// Errors: `errc::invalid_argument` for a setting that no backend has, with the closest name; for
  /// one that is a field; for a secret, if `used` does not contain `secret_file`.
  ELASTIC_DECL void check_conf(std::vector<std::string_view> used) const;
};

namespace detail {

/// The settings of every backend that uses `rendezvous_parameters::settings`, and `own`.
ELASTIC_DECL std::vector<std::string_view> meeting_settings(
    std::initializer_list<std::string_view> own);

/// Errors: `errc::invalid_argument` for numbers of nodes that no job can have.
ELASTIC_DECL void check_nodes(const rendezvous_parameters& parameters);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/impl/rendezvous_parameters.ipp>
#endif
