// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/store.hpp>
#include <elastic/store/versioned_keys.hpp>
#include <elastic/testing/manual_clock.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::testing {

/// Nodes, a server that keeps their keys, and a network between them, for tests under virtual time.
/// Requests take time, mostly up to 2 ms and sometimes up to 100 ms, and fail as the test decides:
/// a node is cut off, the server stalls, an answer is lost. A request that was sent may be carried
/// out even if its sender has given up. The same seed gives the same run.
///
///     simulated_network network(clock, 1);
///     my_rendezvous first(network.store_of(0)), second(network.store_of(1));
///     network.part(1);  // node 1 reaches nothing until mend(1)
///
/// It must outlive its stores and keys. Thread-safety: one thread.
class ELASTIC_EXPORT simulated_network {
 public:
  /// @param seed      decides how long each request takes, and which answers are lost
  /// @param patience  how long a request waits for a connection before it fails with
  ///                  `errc::connection_failed`, at least 0; `duration::max()`: it waits forever
  ELASTIC_DECL explicit simulated_network(manual_clock& clock, std::uint64_t seed = 1,
                                          duration patience = std::chrono::seconds(5));
  simulated_network(const simulated_network&) = delete;
  simulated_network& operator=(const simulated_network&) = delete;
  ELASTIC_DECL virtual ~simulated_network();

  // ---- for the nodes --------------------------------------------------------------------------

  /// The server's store, as this node reaches it. All nodes share its keys.
  ELASTIC_DECL std::shared_ptr<store> store_of(int node);

  /// The server's versioned keys, as this node reaches them. They are separate from the keys of the
  /// store.
  ELASTIC_DECL std::shared_ptr<versioned_keys> keys_of(int node);

  // ---- faults ---------------------------------------------------------------------------------

  /// Silently blocks all traffic between the node and the server.
  ELASTIC_DECL void part(int node);
  /// Unblocks the traffic; held requests get through.
  ELASTIC_DECL void mend(int node);
  /// The server neither accepts nor answers requests for `span`.
  ELASTIC_DECL void stall(duration span);
  /// Kills the node: nothing gets through any more.
  ELASTIC_DECL void kill(int node);
  /// One in `many` changes is made but its answer is lost; 0: none.
  ELASTIC_DECL void lose_one_in(std::uint64_t many);
  /// One in `many` watches of versioned keys does not report a change; 0: none.
  ELASTIC_DECL void skip_one_in(std::uint64_t many);
  /// New versioned keys become visible to readers up to `most` later, like entries of a shared
  /// directory.
  ELASTIC_DECL void delay_entries(duration most);
  /// From now on, the version of a key changes with every change of any key, as an etcd's does.
  /// `put` and the watches still distinguish one key from another.
  ELASTIC_DECL void share_revision();
  /// Ends `part`, `stall` and `lose_one_in`.
  ELASTIC_DECL void heal();
  /// Makes all requests that are on their way fail. One that waits for a key continues to wait.
  ELASTIC_DECL void end();

  /// Whether nothing gets through to or from the node now.
  ELASTIC_DECL bool is_cut_off(int node) const;

  /// How many requests there were for versioned keys.
  std::uint64_t requests() const { return requests_; }

 protected:
  /// Whether the node's requests fail at once.
  virtual bool hangs_up_on(int /*node*/) const { return false; }

  /// The same, with a random source that the test also uses for other things.
  ELASTIC_DECL simulated_network(manual_clock& clock, elastic::detail::random_source& random,
                                 duration patience = std::chrono::seconds(5));

  /// Called after a `compare_set` of a node, with the value that it left.
  virtual void compared(int /*node*/, const std::string& /*key*/, const std::string& /*value*/) {}

  /// Sends a request and its answer. It runs independently: a caller that gives up does not stop
  /// it.
  template <class T>
  task<T> ask(int node, std::function<T()> act) {
    auto made = std::make_shared<request<T>>(clock_.context().get_executor());
    asio::co_spawn(clock_.context(), carry(made, node, std::move(act)), [](std::exception_ptr) {});
    co_await made->ended.wait();
    if (made->failure) std::rethrow_exception(made->failure);
    co_return std::move(*made->answer);
  }

  /// The trip of a message between a node and the server.
  ELASTIC_DECL task<void> pass(int node);

  /// Fails if this answer is to be lost.
  ELASTIC_DECL void lose_answer_at_times();

  /// Wakes the watches after a change.
  ELASTIC_DECL void tell_watches();

  /// During its lifetime, each change sets its flag.
  class watch {
   public:
    ELASTIC_DECL watch(simulated_network& network, asio::any_io_executor executor);
    ELASTIC_DECL ~watch();
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;

    event_flag& flag() { return *flag_; }

   private:
    simulated_network& at_;
    std::shared_ptr<event_flag> flag_;
  };

  manual_clock& clock_;

 private:
  std::unique_ptr<elastic::detail::random_source> own_random_;

 protected:
  elastic::detail::random_source& random_;

 private:
  class far_store;
  class far_keys;

  template <class T>
  struct request {
    explicit request(asio::any_io_executor executor) : ended(std::move(executor)) {}
    event_flag ended;
    std::optional<T> answer;
    std::exception_ptr failure;
  };

  struct kept_entry {
    std::string value;
    std::uint64_t revision = 0;
    time_point appears_at;
  };

  template <class T>
  task<void> carry(std::shared_ptr<request<T>> made, int node, std::function<T()> act) {
    try {
      co_await pass(node);
      T answer = act();
      co_await pass(node);
      made->answer.emplace(std::move(answer));
    } catch (const std::exception&) {
      made->failure = std::current_exception();
    }
    made->ended.set();
  }

  ELASTIC_DECL versioned_keys::entry found(const std::string& key) const;
  ELASTIC_DECL bool put(const std::string& key, const std::string& value,
                        const std::optional<std::string>& version);
  ELASTIC_DECL bool erase(const std::string& key);
  /// The version of a key that was last changed at `revision`; 0: there is none.
  ELASTIC_DECL std::string version_of(std::uint64_t revision) const;
  /// Whether both are versions of one state of a key, whatever happened to others.
  ELASTIC_DECL static bool is_same_state(std::string_view left, std::string_view right);

  const duration patience_;
  std::vector<std::shared_ptr<event_flag>> watches_;
  std::set<int> parted_;
  std::set<int> dead_;
  time_point stalled_until_ = time_point::min();
  std::uint64_t losses_ = 0;
  bool is_over_ = false;
  std::shared_ptr<elastic::detail::key_value_engine> engine_;
  std::map<std::string, kept_entry> entries_;
  std::uint64_t last_revision_ = 0;
  bool shares_revision_ = false;
  std::uint64_t skips_ = 0;
  duration lateness_{};
  std::uint64_t requests_ = 0;
};

}  // namespace elastic::testing

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/testing/impl/simulated_network.ipp>
#endif
