// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/wire/detail/pmi_request.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace elastic::detail {

/// The server's side of the PMI-1 protocol with one worker, without a socket: bytes go in, replies
/// come out.
///
/// It supports these requests of PMI 1.1: init, get_maxes, get_appnum, get_universe_size,
/// get_my_kvsname, put, get, barrier_in, finalize and abort. Requests to start processes, and to
/// publish or look up names, fail with a reply.
class pmi_session {
 public:
  /// The state of the session.
  enum class stage { silent, talking, in_barrier, finalized, aborted };

  /// @param space  shared by all workers of the node
  /// @param size   the number of processes of the job
  pmi_session(std::shared_ptr<pmi_space> space, int size)
      : space_(std::move(space)), size_(size) {}

  /// Takes bytes from the worker. In a barrier, it keeps them until the barrier is complete.
  /// Errors: `errc::protocol_violation`, naming the mistake; the caller must then close the
  /// connection.
  ELASTIC_DECL void consume(std::string_view bytes);

  /// Completes the barrier: all processes of the job have entered it. Errors: those of `consume`.
  ELASTIC_DECL void leave_barrier();

  /// The replies to send. The caller removes them.
  std::string& output() { return output_; }

  stage at() const { return stage_; }

  /// What to log about an unsupported request or an abort, a clause after "rank 3". Empty: nothing
  /// since the last call.
  ELASTIC_DECL std::optional<std::string> take_complaint();

  /// The name of the key-value space.
  static constexpr const char* space_name = "elastic";

 private:
  ELASTIC_DECL void take_lines();
  ELASTIC_DECL void take_line(std::string_view line);
  ELASTIC_DECL void take_spawn_line(std::string_view line);
  ELASTIC_DECL void take(const pmi_request& request);
  ELASTIC_DECL void answer_put(const pmi_request& request);
  ELASTIC_DECL void answer_get(const pmi_request& request);
  ELASTIC_DECL void reply(std::string_view line);

  std::shared_ptr<pmi_space> space_;
  int size_;
  stage stage_ = stage::silent;
  std::string input_;
  std::string output_;
  /// The number of lines so far of a request to start processes; -1: no such request is under way.
  int spawn_lines_ = -1;
  /// The number of programs in that request, and the number of the present one.
  int spawns_ = 1;
  int spawns_so_far_ = 1;
  std::optional<std::string> complaint_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/wire/detail/pmi_session.ipp>
#endif
