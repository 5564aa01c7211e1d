// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/detail/store_extension.hpp>
#include <elastic/store/detail/tcp_store_bounds.hpp>
#include <elastic/store/detail/tcp_store_legacy_dialect.hpp>
#include <elastic/store/detail/tcp_store_protocol.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::detail {

/// One client from the server's point of view, without its socket: bytes in, bytes out.
///
/// Executes the client's requests on the table, in order, or passes them to the extension that the
/// client talks to. It pauses while more than `limits::store_reply_pause_bytes` of replies are
/// unsent, so that a client that does not read causes no more of them.
///
/// Thread-safety: one strand at a time.
class tcp_store_session {
 public:
  /// What to do with the connection now: continue to read; send `output()` first and call
  /// `resume()`; or close it because of `complaint()`.
  enum class state { reading, paused, ended };

  ELASTIC_DECL tcp_store_session(std::shared_ptr<key_value_engine> engine,
                                 const tcp_store_bounds& bounds, tcp_store_legacy_dialect dialect);

  ~tcp_store_session() { close(); }

  tcp_store_session(const tcp_store_session&) = delete;
  tcp_store_session& operator=(const tcp_store_session&) = delete;

  /// Sets the listener that passes the ends of waits and the changes on to `ready` and `changed`.
  void listen(std::weak_ptr<key_value_engine::listener> who) { listener_ = std::move(who); }

  /// Lets clients that begin with the greeting of `further` talk to it, as `self`.
  ELASTIC_DECL void extend(std::shared_ptr<store_extension> further, store_extension::client& self);

  state current() const { return state_; }

  /// Takes bytes that have arrived. Bytes that arrive during a pause are kept for `resume`.
  ELASTIC_DECL state consume(std::string_view bytes);

  /// Continues after a pause, once the output is sent.
  ELASTIC_DECL state resume();

  /// A wait has ended. Result: whether that produced output.
  ELASTIC_DECL bool ready(key_value_engine::wait_id wait);

  /// A watched key has changed.
  ELASTIC_DECL void changed(const key_value_engine::change& change);

  /// Replies to send. The transport removes them.
  std::string& output() { return output_; }
  std::size_t unsent() const { return output_.size(); }

  /// The memory that the server uses for this client, in bytes, roughly: unsent replies, requests
  /// that wait, incomplete messages, the keys that it waits for and watches, and the extension's
  /// share.
  ELASTIC_DECL std::size_t held() const;

  /// Whether a first request was executed, or the extension has accepted a first message.
  ELASTIC_DECL bool has_begun() const;

  /// Whether a part of a request has arrived, or a part of the first message to the extension.
  bool is_midway() const { return !input_.empty() || (conversation_ && !has_begun()); }

  /// The memory for an incomplete message to the extension, in bytes.
  std::size_t held_for_part() const { return conversation_ ? conversation_->held_for_part() : 0; }

  /// Whether the client talks to the extension.
  bool is_of_extension() const { return conversation_ != nullptr; }

  /// Ends the session, by the server's decision.
  ELASTIC_DECL void fail(std::string complaint);

  /// Releases the input and output of a failed session. Must not be called during an execution.
  ELASTIC_DECL void release();

  const std::string& complaint() const { return complaint_; }

  /// Drops the waits and watches of this client. May be called again.
  ELASTIC_DECL void close();

 private:
  using outcome = request_parser::outcome;

  // Result: how many bytes at the front of `input` were processed.
  ELASTIC_DECL std::size_t execute_all(std::string_view input);
  ELASTIC_DECL void pause();
  ELASTIC_DECL bool decide(std::string_view input, std::size_t& done);

  // Result: whether the greeting is complete.
  ELASTIC_DECL bool decide_extension(std::string_view input, std::size_t& done);

  // Result: how many bytes the conversation has taken; the rest has to wait for the end of a pause.
  ELASTIC_DECL std::size_t converse(std::string_view bytes);

  bool is_legacy() const { return generation_ == first_bytes::legacy; }

  // A client up to 2.0 gives up a wait without notice. It would take the byte that ends the wait
  // for the first byte of its next reply, so the wait ends when the next request begins.
  ELASTIC_DECL void drop_stale_wait();
  ELASTIC_DECL void drop_wait();

  // ---- operations -----------------------------------------------------------------------------

  ELASTIC_DECL store_op operation_of(char byte);
  ELASTIC_DECL store_op legacy_operation_of(char byte);

  // Executes all complete SETs at the front at once, because clients send many of them in a row.
  // Result: how many bytes they took.
  ELASTIC_DECL std::size_t execute_sets(std::string_view input);

  // Result: whether the request is complete; if not, the session paused within it or has ended.
  ELASTIC_DECL bool execute_guarded(const store_request& request);
  ELASTIC_DECL bool execute(const store_request& request);
  ELASTIC_DECL bool execute_rare(const store_request& request);
  ELASTIC_DECL void set_all(const std::vector<std::string_view>& texts);

  // ---- replies --------------------------------------------------------------------------------

  ELASTIC_DECL void begin_wait(key_value_engine::wait_id wait,
                               const std::vector<std::string_view>& keys);
  ELASTIC_DECL void pause_if_full();

  void reply_number(std::int64_t number) { append_integer(output_, number); }

  // Clients request a value only after waiting for it, so it can be missing only if it was removed
  // meanwhile. In that case the server of 1.13 closes the connection; that of 2.x with libuv sends
  // an empty value.
  ELASTIC_DECL bool reply_value(std::string_view key);

  // Pauses between two values if there are many. The request is then parsed again, and values that
  // were already sent are skipped.
  ELASTIC_DECL bool reply_values(const std::vector<std::string_view>& keys);
  ELASTIC_DECL void reply_popped(std::string_view key);
  ELASTIC_DECL bool reply_keys();
  ELASTIC_DECL void release_large_input();

  std::shared_ptr<key_value_engine> engine_;
  request_parser parser_;
  tcp_store_legacy_dialect dialect_;
  std::weak_ptr<key_value_engine::listener> listener_;
  std::shared_ptr<store_extension> extension_;
  store_extension::client* self_ = nullptr;
  std::unique_ptr<store_extension::conversation> conversation_;
  state state_ = state::reading;
  first_bytes generation_ = first_bytes::undecided;
  bool is_first_ = true;
  bool has_executed_ = false;
  bool watches_only_ = false;
  bool is_2_1_ = false;
  key_value_engine::wait_id wait_ = 0;
  std::vector<key_value_engine::wait_id> watches_;
  std::size_t values_sent_ = 0;
  // The sizes of the keys that this client waits for and watches, in bytes.
  std::size_t waited_ = 0;
  std::size_t watched_ = 0;
  std::string input_;
  std::string output_;
  std::string complaint_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/detail/tcp_store_session.ipp>
#endif
