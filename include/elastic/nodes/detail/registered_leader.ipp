// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/registered_leader.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/nodes/detail/candidate_message.hpp>
#include <elastic/nodes/detail/leader_visitor.hpp>
#include <elastic/nodes/detail/rendezvous_coordinator.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace elastic::detail {

/// The pause between two attempts to write the record.
inline constexpr std::chrono::milliseconds registry_pause{250};
/// The time for which an agent tries to become the leader, and that for which a leaving leader
/// tries to resign.
inline constexpr std::chrono::seconds registry_patience{10};
inline constexpr std::chrono::seconds registry_farewell{2};

/// One connection to the leader. The first message shows the password. After it, the connection is
/// a node's conversation.
class registered_leader::visitor final : public leader_visitor {
 public:
  visitor(registered_leader& owner, client& peer) : leader_visitor(peer), of_(owner) {
    of_.visitors_.push_back(this);
  }
  ~visitor() override {
    leave();
    std::erase(of_.visitors_, this);
    of_.wake();
  }

  bool has_begun() const override { return is_known_; }

  // Confirms to the node that this agent leads. The node sends its hello next.
  void welcome() {
    if (is_known_) send(candidate_messages::leads{of_.record_.kept.term, 0});
  }

 private:
  void greet(std::string_view message) override {
    const auto request = parse_candidate_request(message);
    const auto* seek = request ? std::get_if<candidate_messages::seek>(&*request) : nullptr;
    if (!request && is_known_ && of_.service_) return enter(of_.service_, message);
    if (seek == nullptr || is_known_) return dismiss();
    is_known_ = seek->run_id == of_.chosen_.run_id && !of_.record_.password.empty() &&
                seek->list == of_.record_.password;
    if (!is_known_) {
      send(candidate_messages::rejected{"this server does not lead the job"});
      return dismiss();
    }
    raise_bound(limits::rendezvous_message_bytes);
    if (of_.service_) welcome();
  }
  void noted() override { of_.wake(); }

  registered_leader& of_;
  bool is_known_ = false;
};

/// Marks, while it exists, that the leader is writing.
class registered_leader::writing_mark {
 public:
  explicit writing_mark(registered_leader& owner) : of_(owner) { of_.is_writing_ = true; }
  ~writing_mark() {
    of_.is_writing_ = false;
    of_.wake();
  }
  writing_mark(const writing_mark&) = delete;
  writing_mark& operator=(const writing_mark&) = delete;

 private:
  registered_leader& of_;
};

ELASTIC_DECL registered_leader::registered_leader(options chosen)
    : chosen_(std::move(chosen)), beat_(chosen_.lease / 4) {}

ELASTIC_DECL registered_leader::~registered_leader() = default;

ELASTIC_DECL void registered_leader::try_to_lead(candidacy own) {
  const std::lock_guard lock(access_);
  wish_ = std::move(own);
  if (!executor_) return;
  asio::post(*executor_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->wake();
  });
}

ELASTIC_DECL bool registered_leader::stands() {
  const std::lock_guard lock(access_);
  return wish_.has_value();
}

ELASTIC_DECL task<void> registered_leader::run() {
  const auto executor = co_await asio::this_coro::executor;
  earlier_.emplace(executor);
  news_.emplace(executor);
  {
    const std::lock_guard lock(access_);
    executor_ = executor;
  }
  while (!stands()) {
    earlier_->reset();
    co_await earlier_->wait();
  }
  try {
    co_await lead();
  } catch (const error& failure) {
    chosen_.log.error("rendezvous of job '{}': this node no longer leads it: {}", chosen_.run_id,
                      failure.what());
  }
  is_over_ = true;
  news_->set();
  co_await chosen_.time->sleep_until(time_point::max());
}

ELASTIC_DECL auto registered_leader::begin(client& peer) -> std::unique_ptr<conversation> {
  return std::make_unique<visitor>(*this, peer);
}

ELASTIC_DECL task<void> registered_leader::lead() {
  const bool has_won = co_await take();
  if (!has_won) co_return;
  begin_service();
  co_await serve();
  if (is_replaced_) {
    chosen_.log.info("rendezvous of job '{}': another node leads it now", chosen_.run_id);
  }
  if (!is_retiring_ || is_replaced_) co_return;
  // Other agents then need not wait for the end of the lease.
  record_.address.port = 0;
  task<outcome> writing = write();
  co_await with_deadline(*chosen_.time, chosen_.time->now() + registry_farewell,
                         std::move(writing));
}

ELASTIC_DECL task<bool> registered_leader::take() {
  const leader_registry::sight& former = wish_->former;
  const auto today = chosen_.time->wall_now().time_since_epoch();
  const std::int64_t now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(today).count();
  record_.address = wish_->address;
  record_.password = random_name(32);
  record_.agent = chosen_.node;
  record_.silence = chosen_.settings.silence();
  record_.lease = chosen_.lease;
  if (former.record) record_.kept = former.record->kept;
  // No round begins until `wait` is over, and by then that node's workers are gone.
  std::erase(record_.kept.members, record_.kept.leader_node);
  record_.kept.leader_node = 0;
  record_.kept.term = std::max({record_.kept.term + 1, wish_->least_term, now_ms});
  record_.kept.sequence = 0;
  version_ = former.version;
  first_round_at_ = chosen_.time->now() + wish_->wait;
  const time_point limit = chosen_.time->now() + registry_patience;
  while (chosen_.time->now() < limit) {
    const outcome came = co_await write();
    if (came != outcome::unknown) co_return came == outcome::written;
    const time_point next_try = chosen_.time->now() + registry_pause;
    co_await chosen_.time->sleep_until(next_try);
  }
  co_return false;
}

ELASTIC_DECL auto registered_leader::write() -> task<outcome> {
  const writing_mark mark(*this);
  const time_point begun = chosen_.time->now();
  std::optional<std::uint64_t> content;
  if (job_) {
    const std::int64_t term = record_.kept.term;
    const std::int64_t sequence = record_.kept.sequence;
    content = job_->content_version();
    record_.kept = job_->content();
    record_.kept.term = term;
    record_.kept.sequence = sequence;
  }
  // Each attempt has its own number, so that the record shows which attempt wrote it.
  ++record_.kept.sequence;
  record_.kept.is_uncertain = begun < first_round_at_;
  const leader_record record = record_;
  leader_registry::sight seen;
  try {
    co_await chosen_.registry->try_put(record, version_);
    seen = co_await chosen_.registry->look();
  } catch (const error& failure) {
    if (failure.code() == errc::invalid_argument) throw;
    mark_away(failure.what());
    co_return outcome::unknown;
  }
  const outcome came = classify(seen);
  if (came != outcome::written) co_return came;
  lease_end_ = begun + chosen_.lease;
  next_beat_ = begun + beat_;
  written_ = record.kept;
  written_version_ = content;
  mark_reached();
  co_return came;
}

ELASTIC_DECL auto registered_leader::classify(const leader_registry::sight& seen) -> outcome {
  const bool is_ours = seen.record && seen.record->password == record_.password;
  if (is_ours && seen.record->kept.sequence == record_.kept.sequence) {
    version_ = seen.version;
    return outcome::written;
  }
  const bool has_changed = seen.version != wish_->former.version;
  if (!is_ours && !job_ && has_changed) return outcome::replaced;
  // An older record stems from a write that was in progress when this agent took the record.
  if (!is_ours && seen.record && seen.record->kept.term > record_.kept.term) {
    return outcome::replaced;
  }
  version_ = seen.version;
  return outcome::unknown;
}

ELASTIC_DECL bool registered_leader::has_lease() const {
  return !is_replaced_ && !is_retiring_ && chosen_.time->now() < lease_end_;
}

ELASTIC_DECL void registered_leader::mark_away(const std::string& why) {
  if (!job_) {
    const std::lock_guard lock(access_);
    problem_ = why;
    return;
  }
  if (std::exchange(is_away_, true)) return;
  const std::chrono::duration<double> remaining = lease_end_ - chosen_.time->now();
  chosen_.log.warning(
      "rendezvous of job '{}': {} cannot be read or written ({}): the job runs on, but begins no "
      "round and takes no node; unless this ends within {:.0f} s, its workers are stopped",
      chosen_.run_id, chosen_.registry->name(), why, remaining.count());
  job_->suspend(true, chosen_.time->now());
  // The end of a job may be announced even without the registry.
  service_->speak();
}

ELASTIC_DECL std::string registered_leader::problem() const {
  const std::lock_guard lock(access_);
  return problem_;
}

ELASTIC_DECL void registered_leader::mark_reached() {
  if (!std::exchange(is_away_, false)) return;
  if (job_) job_->suspend(false, chosen_.time->now());
  chosen_.log.info("rendezvous of job '{}': {} can be read and written again", chosen_.run_id,
                   chosen_.registry->name());
}

// ---- serving the job ----------------------------------------------------------------------------

ELASTIC_DECL void registered_leader::begin_service() {
  const time_point now = chosen_.time->now();
  first_round_at_ = now + wish_->wait;
  job_ = new_shared<rendezvous_coordinator>(chosen_.run_id, chosen_.log, record_.kept.term);
  job_->inherit(record_.kept, chosen_.node, chosen_.settings, now, first_round_at_);
  job_->fence_own_node();
  service_ = new_shared<rendezvous_service>(
      job_, [this](const rendezvous_coordinator& job) { return may_answer(job); }, chosen_.log,
      chosen_.time);
  service_->let_pass([this](const rendezvous_answer& answer) { return may_pass(answer); });
  service_->on_change([this](const rendezvous_coordinator&) { wake(); });
  if (chosen_.reports) service_->show(chosen_.run_id, chosen_.reports);
  next_beat_ = now + beat_;
  {
    const std::lock_guard lock(access_);
    problem_.clear();
  }
  chosen_.log.info("rendezvous of job '{}': this node leads it, in term {}, at {}", chosen_.run_id,
                   record_.kept.term, to_text(record_.address));
  for (visitor* const entry : std::vector<visitor*>(visitors_)) entry->welcome();
}

ELASTIC_DECL task<void> registered_leader::serve() {
  const auto service = service_;
  task<void> ending = [](registered_leader& self) -> task<void> {
    self.end_service();
    co_return;
  }(*this);
  task<void> serving = [](registered_leader& self,
                          std::shared_ptr<rendezvous_service> served) -> task<void> {
    co_await race(served->run(), self.keep(), self.watch());
  }(*this, service);
  co_await with_cleanup(std::move(serving), std::move(ending));
}

ELASTIC_DECL void registered_leader::end_service() {
  if (!service_) return;
  const std::int64_t term = record_.kept.term;
  const std::int64_t sequence = record_.kept.sequence;
  record_.kept = job_->content();
  record_.kept.term = term;
  record_.kept.sequence = sequence;
  service_->resign();
  service_.reset();
  job_.reset();
  for (visitor* const entry : std::vector<visitor*>(visitors_)) entry->dismiss();
}

ELASTIC_DECL task<void> registered_leader::keep() {
  for (;;) {
    earlier_->reset();
    if (is_replaced_ || is_retiring_) co_return;
    const time_point now = chosen_.time->now();
    if (now >= lease_end_) {
      chosen_.log.warning(
          "rendezvous of job '{}': {} could not be read or written for {:g} s: this node stops "
          "leading the job, and its nodes stop their workers",
          chosen_.run_id, chosen_.registry->name(),
          std::chrono::duration<double>(chosen_.lease).count());
      co_return;
    }
    const bool is_due = has_news() || now >= next_beat_;
    if (is_due && now >= next_try_) {
      next_try_ = now;
      task<outcome> writing = write();
      const auto came = co_await with_deadline(*chosen_.time, lease_end_, std::move(writing));
      if (came == outcome::replaced) is_replaced_ = true;
      if (came == outcome::unknown) next_try_ = chosen_.time->now() + registry_pause;
      if (came == outcome::written) service_->speak();
      continue;
    }
    const time_point next = std::min(lease_end_, is_due ? next_try_ : next_beat_);
    co_await with_deadline(*chosen_.time, next, earlier_->wait());
  }
}

ELASTIC_DECL task<void> registered_leader::watch() {
  std::string version = version_;
  for (;;) {
    bool has_failed = false;
    try {
      co_await chosen_.registry->wait_for_change(version);
      co_await end_of_write();
      // The change was this agent's own write, which has already checked the record.
      if (version != version_) {
        version = version_;
        continue;
      }
      const leader_registry::sight seen = co_await chosen_.registry->look();
      version = seen.version;
      const bool is_newer = seen.record && seen.record->kept.term > record_.kept.term;
      if (is_newer && !std::exchange(is_replaced_, true)) wake();
    } catch (const error& failure) {
      if (failure.code() == errc::invalid_argument) throw;
      has_failed = true;
    }
    if (!has_failed && !is_replaced_) continue;
    const time_point next_look = chosen_.time->now() + registry_pause;
    co_await chosen_.time->sleep_until(next_look);
  }
}

ELASTIC_DECL task<void> registered_leader::end_of_write() {
  // The registry may have stopped answering, and yet report changes.
  const time_point limit = chosen_.time->now() + registry_pause;
  while (is_writing_ && chosen_.time->now() < limit) {
    co_await with_deadline(*chosen_.time, limit, news_->wait());
  }
}

ELASTIC_DECL bool registered_leader::has_news() {
  const std::uint64_t content = job_->content_version();
  if (written_version_ == content) return false;
  if (!has_same_content(written_, job_->content())) return true;
  written_version_ = content;
  return false;
}

ELASTIC_DECL bool registered_leader::may_answer(const rendezvous_coordinator& job) {
  if (&job != job_.get() || !has_lease()) {
    wake();
    return false;
  }
  if (!has_news()) return true;
  wake();
  return is_away_ && job.is_over();
}

ELASTIC_DECL bool registered_leader::may_pass(const rendezvous_answer& answer) const {
  const bool needs_record = std::holds_alternative<rendezvous_messages::placed>(answer) ||
                            std::holds_alternative<rendezvous_messages::all_finished>(answer) ||
                            std::holds_alternative<rendezvous_messages::closed>(answer);
  return !needs_record && has_lease();
}

ELASTIC_DECL void registered_leader::wake() {
  if (earlier_) earlier_->set();
  if (news_) {
    news_->set();
    news_->reset();
  }
}

// ---- leaving ------------------------------------------------------------------------------------

ELASTIC_DECL task<void> registered_leader::retire(bool is_job_over) {
  std::optional<asio::any_io_executor> executor;
  {
    const std::lock_guard lock(access_);
    executor = executor_;
  }
  if (!executor) co_return;
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  co_await run_on(*executor, hand_over(is_job_over), cancellation.slot());
}

ELASTIC_DECL task<void> registered_leader::hand_over(bool is_job_over) {
  time_source& time = *chosen_.time;
  const time_point limit = time.now() + 2 * chosen_.settings.silence();
  while (is_job_over && service_ && !job_->is_idle() && time.now() < limit) {
    co_await with_deadline(time, limit, news_->wait());
  }
  is_retiring_ = true;
  wake();
  const time_point last = time.now() + registry_farewell;
  while (!is_over_ && time.now() < last) {
    co_await with_deadline(time, last, news_->wait());
  }
}

}  // namespace elastic::detail
