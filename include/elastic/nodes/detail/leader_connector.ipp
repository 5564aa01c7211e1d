// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/leader_connector.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/nodes/detail/candidate_message.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace elastic::detail {

inline constexpr std::chrono::milliseconds first_search_pause{10};
inline constexpr std::chrono::milliseconds longest_search_pause{250};
inline constexpr std::chrono::seconds search_attempt{5};

/// The common state of the conversations with all candidates.
struct leader_connector::search {
  explicit search(asio::any_io_executor executor) : ended(executor) {}

  event_flag ended;
  std::shared_ptr<message_channel> channel;
  int leader = -1;
  std::int64_t term = 0;
  std::string refusal;
};

ELASTIC_DECL leader_connector::leader_connector(options chosen)
    : chosen_(std::move(chosen)), problems_(chosen_.candidates.size()) {}

ELASTIC_DECL std::string leader_connector::problem() const {
  std::string text;
  for (std::size_t place = 0; place < problems_.size(); ++place) {
    if (problems_[place].empty()) continue;
    if (!text.empty()) text += "; ";
    text += fmt::format("{}: {}", chosen_.candidates[place]->name(), problems_[place]);
  }
  return text;
}

ELASTIC_DECL std::string leader_connector::connected_to() const {
  if (leader_ < 0) return name();
  return chosen_.candidates[static_cast<std::size_t>(leader_)]->name();
}

ELASTIC_DECL task<std::shared_ptr<message_channel>> leader_connector::connect() {
  auto executor = co_await asio::this_coro::executor;
  const auto state = new_shared<search>(executor);
  task_group conversations(executor);
  for (std::size_t place = 0; place < chosen_.candidates.size(); ++place) {
    conversations.spawn(ask(state, place));
  }
  co_await with_cleanup(state->ended.wait(), conversations.stop());
  if (!state->channel) throw error(errc::invalid_argument, state->refusal);
  leader_ = state->leader;
  term_ = state->term;
  co_return state->channel;
}

ELASTIC_DECL task<std::shared_ptr<message_channel>> leader_connector::connect_again() {
  const auto connector = chosen_.candidates[static_cast<std::size_t>(leader_)];
  const std::shared_ptr<message_channel> channel = co_await connector->connect();
  channel->send(question());
  const std::string message = co_await channel->receive();
  const candidate_answer answer = parse_candidate_answer(message);
  const auto* leads = std::get_if<candidate_messages::leads>(&answer);
  if (leads && leads->term == term_) co_return channel;
  throw error(errc::connection_failed, fmt::format("{} no longer leads", connector->name()));
}

ELASTIC_DECL std::string leader_connector::question() const {
  candidate_messages::seek asked;
  asked.run_id = chosen_.run_id;
  asked.list = chosen_.list;
  asked.index = chosen_.self;
  asked.node = chosen_.node;
  asked.highest_term = term_;
  return candidate_text(candidate_request(asked));
}

ELASTIC_DECL std::string leader_connector::objection(std::size_t place, int index) const {
  if (index == static_cast<int>(place)) return {};
  return fmt::format(
      "the endpoints '{}': at {} candidate {} is met, not {}: two of the list are one server, or "
      "its setting candidate is wrong",
      chosen_.list, chosen_.candidates[place]->name(), index, place);
}

ELASTIC_DECL task<void> leader_connector::ask(std::shared_ptr<search> state, std::size_t place) {
  duration pause = first_search_pause;
  while (!state->ended.is_set()) {
    const std::shared_ptr<message_channel> channel = co_await try_connect(state, place);
    if (channel) co_await converse(state, place, channel);
    if (channel && channel != state->channel) channel->close();
    if (state->ended.is_set()) co_return;
    co_await chosen_.time->sleep_until(chosen_.time->now() + pause);
    pause = std::min<duration>(pause * 2, longest_search_pause);
  }
}

ELASTIC_DECL auto leader_connector::try_connect(std::shared_ptr<search> state, std::size_t place)
    -> task<std::shared_ptr<message_channel>> {
  const auto connector = chosen_.candidates[place];
  const time_point limit = chosen_.time->now() + search_attempt;
  std::shared_ptr<message_channel> channel;
  try {
    auto connected = co_await with_deadline(*chosen_.time, limit, connector->connect());
    if (connected) channel = std::move(*connected);
    problems_[place] = channel ? "" : "no answer";
  } catch (const error& failure) {
    problems_[place] = failure.what();
    // The secrets differ, or only one side has one: the other candidates will not help.
    if (failure.code() == errc::invalid_argument) log_refusal(*state, failure.what());
    chosen_.log.debug("{} is not reached: {}", connector->name(), failure.what());
  }
  co_return channel;
}

ELASTIC_DECL void leader_connector::log_refusal(search& state, const std::string& why) {
  if (term_ > 0) {
    // This node has been in the job before, so another program must have taken over the address of
    // a lost host.
    if (std::exchange(last_refusal_, why) != why) {
      chosen_.log.warning("a server of the endpoints is passed over: {}", why);
    }
    return;
  }
  state.refusal = why;
  state.ended.set();
}

ELASTIC_DECL task<void> leader_connector::converse(std::shared_ptr<search> state, std::size_t place,
                                                   std::shared_ptr<message_channel> channel) {
  constexpr int most_silences = 2;
  try {
    for (int silences = 0; silences < most_silences;) {
      channel->send(question());
      // Candidates answer at once. After that, either news arrives or it is time to ask again.
      const time_point next = chosen_.time->now() + chosen_.interval;
      ++silences;
      for (;;) {
        const auto message = co_await with_deadline(*chosen_.time, next, channel->receive());
        if (!message) break;
        silences = 0;
        const candidate_answer answer = parse_candidate_answer(*message);
        const auto* leads = std::get_if<candidate_messages::leads>(&answer);
        const auto* waits = std::get_if<candidate_messages::wait>(&answer);
        const auto* rejected = std::get_if<candidate_messages::rejected>(&answer);
        if (state->ended.is_set()) continue;
        std::string why;
        if (rejected) why = rejected->why;
        if (leads) why = objection(place, leads->index);
        if (waits) why = objection(place, waits->index);
        if (waits) problems_[place] = "it knows of no leader yet";
        if (!why.empty()) {
          log_refusal(*state, why);
          co_return;
        }
        if (!leads || leads->term < term_) continue;
        state->channel = channel;
        state->leader = static_cast<int>(place);
        state->term = leads->term;
        state->ended.set();
        co_return;
      }
    }
  } catch (const error& failure) {
    problems_[place] = failure.what();
    // The secrets differ, or only one side has one.
    if (failure.code() == errc::invalid_argument) log_refusal(*state, failure.what());
    chosen_.log.debug("{} does not say who leads: {}", chosen_.candidates[place]->name(),
                      failure.what());
  }
}

}  // namespace elastic::detail
