// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/nodes/detail/rendezvous_coordinator.hpp>
#include <elastic/rendezvous/detail/node_id.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/store/detail/store_extension.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace elastic::detail {

/// The rendezvous of any number of jobs, on the port of a store server.
///
/// Add it to one server as its extension.
/// Thread-safety: that of a server's extensions.
class rendezvous_service final : public store_extension,
                                 public std::enable_shared_from_this<rendezvous_service> {
 public:
  /// The first bytes that nodes send.
  static constexpr std::string_view first_words = "elastic rendezvous\n";

  /// @param time  null: the clocks of the machine
  ELASTIC_DECL explicit rendezvous_service(logger log, std::shared_ptr<time_source> time = nullptr);

  /// Serves a single job, which another server may have begun, and sends its nodes nothing while
  /// `may_answer` is false.
  ELASTIC_DECL rendezvous_service(std::shared_ptr<rendezvous_coordinator> job,
                                  std::function<bool(const rendezvous_coordinator&)> may_answer,
                                  logger log, std::shared_ptr<time_source> time);

  ELASTIC_DECL ~rendezvous_service() override;

  /// Sets which answers nodes receive even while `may_answer` is false, unless an earlier answer
  /// waits on their connection. Call it before the server runs.
  void let_pass(std::function<bool(const rendezvous_answer&)> may_pass) {
    may_pass_ = std::move(may_pass);
  }

  /// Sets the job of the server's own agent, and its settings, which apply to all of its nodes.
  /// Nodes of other jobs may then be silent for no longer than nodes of this one, and all other
  /// jobs together have `limits::rendezvous_other_nodes` nodes at most. Without this call, all jobs
  /// together have `limits::nodes`, and the first node of each job determines how long its nodes
  /// may be silent. Call it before `run`.
  ELASTIC_DECL void set_own_job(std::string run_id, const rendezvous_settings& settings);

  /// Makes the nodes of this job send reports about themselves, for viewers of the job. An exchange
  /// belongs to one job at a time, the last one. Any thread may call it, on a service that a shared
  /// pointer owns.
  ELASTIC_DECL void show(std::string run_id, std::shared_ptr<report_exchange> reports);

  /// Sets the function to call, on the server's strand, whenever a node or one of its connections
  /// has come or gone. Call it before the server runs.
  void on_change(std::function<void(const rendezvous_coordinator&)> listener) {
    on_change_ = std::move(listener);
  }

  /// Sends the nodes their pending answers, if the server may speak.
  ELASTIC_DECL void speak();

  /// Notifies the nodes that this server no longer leads them, and sends nothing else.
  ELASTIC_DECL void resign();

  std::string_view greeting() const override { return first_words; }

  ELASTIC_DECL task<void> run() override;
  ELASTIC_DECL std::unique_ptr<conversation> begin(client& peer) override;

 private:
  using connection = rendezvous_coordinator::connection;

  class node_conversation final : public conversation {
   public:
    ELASTIC_DECL node_conversation(rendezvous_service& owner, client& peer);
    ~node_conversation() override { of_.gone(id_); }
    node_conversation(const node_conversation&) = delete;
    node_conversation& operator=(const node_conversation&) = delete;
    ELASTIC_DECL void received(std::string_view bytes) override;
    ELASTIC_DECL bool has_begun() const override;
    std::size_t held() const override { return frames_.held() + of_.held_by(id_); }
    std::size_t held_for_part() const override { return frames_.is_midway() ? frames_.held() : 0; }

   private:
    rendezvous_service& of_;
    connection id_;
    frame_reader frames_;
  };

  struct node_connection {
    client* peer;
    /// Null until the node has named its job. Lives as long as the connection, even if the job is
    /// forgotten.
    std::shared_ptr<rendezvous_coordinator> job = nullptr;
    /// The memory that its node uses in the job, in bytes.
    std::size_t node_bytes = 0;
    /// Answers that wait until the server may speak, and whether to end the connection after them.
    std::string unsent = {};
    bool ends_then = false;
  };

  struct own_job {
    std::string run_id;
    rendezvous_settings settings;
  };

  // ---- requests of clients --------------------------------------------------------------------

  ELASTIC_DECL connection enter(client& peer);
  ELASTIC_DECL void gone(connection id);
  ELASTIC_DECL void received(connection id, std::string_view message);
  ELASTIC_DECL std::size_t held_by(connection id) const;
  ELASTIC_DECL void introduce(connection id, node_connection& sender, const std::string& run_id);
  // Refuses a node that starts a role with a different job file than the present roles have.
  ELASTIC_DECL void compare_files(connection id, const rendezvous_messages::hello& greeting);
  ELASTIC_DECL std::shared_ptr<rendezvous_coordinator> begin_job(const std::string& run_id);

  // Forgets jobs in which no node takes part, ended ones last.
  ELASTIC_DECL void make_room(connection id);
  bool is_own(std::string_view run_id) const { return own_ && own_->run_id == run_id; }

  // Refuses a node of another job if there are too many already.
  ELASTIC_DECL void limit_nodes(connection id, const rendezvous_coordinator& job,
                                const node_id& node);
  [[noreturn]] ELASTIC_DECL void refuse(connection id, const std::string& why);

  // ---- answers to nodes -----------------------------------------------------------------------

  // Sends the answers. Sending may end connections, which calls this object again.
  ELASTIC_DECL void deliver(rendezvous_coordinator& job);
  ELASTIC_DECL void send(connection link, const rendezvous_answer& what);
  ELASTIC_DECL void hang_up(connection link);

  // Whether an answer may be sent now. While the server may not speak, answers wait at their
  // connection, and are lost with it. Some may pass, and the answer to a keep-alive depends on no
  // earlier answer.
  ELASTIC_DECL bool passes(connection link, const rendezvous_answer& what) const;
  ELASTIC_DECL bool holds_nothing_for(connection link) const;
  ELASTIC_DECL void hold(connection link, const rendezvous_answer& what);
  ELASTIC_DECL void send_held();

  // ---- viewers --------------------------------------------------------------------------------

  /// A job that is shown, and the last news that its viewers received.
  struct shown_job {
    std::shared_ptr<report_exchange> reports = {};
    std::uint64_t listed_version = 0;
    time_point listed_at = time_point::min();
    bool is_listing_due = false;
  };

  // Begins to show the jobs that viewers asked for.
  ELASTIC_DECL void begin_showing();
  ELASTIC_DECL void end_showing(const report_exchange& reports);

  // Passes on the reports of the nodes, and the roster.
  ELASTIC_DECL void pass_reports(rendezvous_coordinator& job);
  ELASTIC_DECL void pass_demands();
  ELASTIC_DECL time_point next_listing() const;

  // ---- jobs that wait for each other's nodes ----------------------------------------------------

  /// How long two jobs wait for nodes before the nodes of each learn of the other job.
  static constexpr std::chrono::seconds other_job_patience{30};

  struct wait {
    time_point since{};
    bool is_told = false;
  };

  ELASTIC_DECL void update_wait(const rendezvous_coordinator& job);
  ELASTIC_DECL time_point next_comparison() const;
  ELASTIC_DECL void compare_waits();

  // ---- time -----------------------------------------------------------------------------------

  ELASTIC_DECL time_point next_deadline() const;
  ELASTIC_DECL void plan(const rendezvous_coordinator& job);

  logger log_;
  std::shared_ptr<time_source> time_;
  std::function<bool(const rendezvous_coordinator&)> may_answer_;
  std::function<bool(const rendezvous_answer&)> may_pass_;
  std::function<void(const rendezvous_coordinator&)> on_change_;
  std::optional<own_job> own_;
  std::map<std::string, std::shared_ptr<rendezvous_coordinator>, std::less<>> jobs_;
  /// The waits of jobs that have too few nodes, by run id.
  std::map<std::string, wait, std::less<>> waits_;
  std::unordered_map<connection, node_connection> connections_;
  bool has_held_ = false;
  connection last_ = 0;
  std::int64_t last_term_ = 0;
  std::map<std::string, shown_job, std::less<>> shown_;
  /// The jobs that viewers asked for and that are not shown yet, and the strand that shows them;
  /// the mutex guards both.
  std::mutex asked_mutex_;
  std::map<std::string, std::shared_ptr<report_exchange>> asked_;
  std::optional<asio::any_io_executor> executor_;
  std::optional<event_flag> earlier_;
  time_point planned_ = time_point::max();
  std::string frame_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/rendezvous_service.ipp>
#endif
