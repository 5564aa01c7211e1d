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

/// The server's end of a conversation in PMI-1 with one worker: bytes go in, replies come out.
///
/// PMI 1.1: init, get_maxes, get_appnum, get_universe_size, get_my_kvsname, put, get, barrier_in,
/// finalize and abort. A request to start further processes, or to publish or look up a name, is
/// answered with a failure.
class pmi_session {
 public:
  /// How far the conversation has got.
  enum class stage { silent, talking, in_barrier, finalized, aborted };

  /// @param space  that of the node's workers
  /// @param size   the number of processes of the job
  pmi_session(std::shared_ptr<pmi_space> space, int size)
      : space_(std::move(space)), size_(size) {}

  /// Takes bytes of the worker; in a barrier they wait for its end.
  /// Errors: `errc::protocol_violation`, saying what the worker wrote: the connection has to end.
  ELASTIC_DECL void consume(std::string_view bytes);

  /// All processes of the job are in the barrier. Errors: those of `consume`.
  ELASTIC_DECL void leave_barrier();

  /// The replies that are to be sent. The caller takes them away.
  std::string& output() { return output_; }

  stage at() const { return stage_; }

  /// A sentence for the log about what the worker asked for and does not get, or its abort.
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
  /// Lines of a request to start processes so far; -1: there is none.
  int spawn_lines_ = -1;
  /// The number of programs in it, and of which one this is.
  int spawns_ = 1;
  int spawns_so_far_ = 1;
  std::optional<std::string> complaint_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/wire/detail/impl/pmi_session.ipp>
#endif
