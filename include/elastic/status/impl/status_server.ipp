// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/status_server.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/joined_text.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/net/detail/socket_stream.hpp>
#include <elastic/net/detail/stream_listener.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/status/detail/command_request.hpp>
#include <elastic/status/detail/job_document.hpp>
#include <elastic/status/detail/job_monitor_core.hpp>
#include <elastic/status/detail/output_desk.hpp>
#include <elastic/status/detail/output_feed.hpp>
#include <elastic/status/detail/roles_overview.hpp>
#include <elastic/status/detail/status_answer.hpp>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// Whether a cookie and a URL carry a text as it is.
inline bool is_status_token(std::string_view text) {
  return text.size() >= limits::status_token_least_bytes &&
         text.size() <= limits::status_token_bytes &&
         std::all_of(text.begin(), text.end(), [](char letter) {
           return (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
                  (letter >= 'a' && letter <= 'z') ||
                  std::string_view("-._~").find(letter) != std::string_view::npos;
         });
}

inline std::string allowed_token_text() {
  return fmt::format("{} to {} letters, digits and the signs -._~ are needed",
                     limits::status_token_least_bytes, limits::status_token_bytes);
}

/// 128 bits that nobody can guess.
inline std::string make_status_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getentropy(bytes.data(), bytes.size()) != 0) {
    throw error(errc::connection_failed,
                "the system provides no random bytes: " + errno_text(errno));
  }
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

/// The part of the server that its coroutines share, so that it lives while they do. All of it runs
/// on one strand.
class status_server_core : public std::enable_shared_from_this<status_server_core> {
 public:
  status_server_core(asio::any_io_executor executor, status_server::options options)
      : strand_(asio::make_strand(std::move(executor))),
        options_(std::move(options)),
        listener_(listen(strand_, options_.address)),
        changed_(strand_),
        gone_(strand_),
        tasks_(strand_) {
    if (!options_.time) options_.time = new_shared<system_time>();
    if (!options_.address.is_unix()) options_.address.tcp.port = listener_.port();
    makes_token_ = options_.token.empty() && !options_.address.is_local();
    if (makes_token_) options_.token = make_status_token();
    gate_.token = options_.token;
    if (!gate_.token.empty()) gate_.session = make_status_token();
    gate_.cookie = fmt::format("elastic_status_{}", listener_.port());
    gate_.checks_host = !options_.address.is_unix();
    gate_.hosts = options_.host_names;
    gate_.hosts.push_back(host_name());
    for (std::string& host : gate_.hosts) host = http_lower_case(host);
    add_shown_jobs();
  }

  void start() {
    const auto self = shared_from_this();
    on_change([weak = weak_from_this()] {
      if (const auto core = weak.lock()) core->announce_change();
    });
    if (options_.monitor) options_.monitor->show(options_.journal);
    asio::post(strand_, [self] {
      if (!self->is_stopping_) self->tasks_.spawn(self->accept_clients());
    });
  }

  const status_server::options& options() const { return options_; }
  bool makes_token() const { return makes_token_; }
  const asio::any_io_executor& strand() const { return strand_; }
  std::size_t connections() const { return connected_; }

  void close() {
    is_stopping_ = true;
    on_change({});
    listener_.close();
    changed_.set();
    for (const auto& entry : clients_) entry->stream.close();
  }

  static task<void> stop(std::shared_ptr<status_server_core> self) {
    self->is_stopping_ = true;
    self->on_change({});
    self->listener_.close();
    self->changed_.set();
    for (const auto& entry : self->clients_) {
      if (!entry->is_busy()) entry->stream.close();
    }
    try {
      if (!self->clients_.empty()) {
        time_source& time = *self->options_.time;
        task<void> waiting = self->gone_.wait();
        co_await with_deadline(time, time.now() + limits::status_farewell, std::move(waiting));
      }
    } catch (const std::exception& failure) {
      pass_cancellation();
      self->options_.log.warning("status: the last viewers were not waited for: {}",
                                 failure.what());
    }
    self->close();
    try {
      co_await self->tasks_.stop();
    } catch (const std::exception& failure) {
      pass_cancellation();
      self->options_.log.warning("status: it had ended: {}", failure.what());
    }
  }

 private:
  /// The sources of the view of one agent: that of the job, or of one of its roles.
  struct shown_job {
    std::shared_ptr<job_monitor_core> monitor;
    /// Null: nothing records yet.
    std::function<std::shared_ptr<job_journal>()> journal;
    std::shared_ptr<output_tails> tails;
  };

  struct client {
    explicit client(accepted_connection accepted) : stream(std::move(accepted.socket)) {
      if (accepted.peer) user = accepted.peer->uid;
    }

    socket_stream stream;
    /// See command_peer.
    std::optional<std::uint32_t> user;
    bool follows_events = false;
    /// The client waits for the result of a command.
    bool awaits_command = false;

    bool is_busy() const { return follows_events || awaits_command; }
  };
  using self_pointer = std::shared_ptr<status_server_core>;
  using client_pointer = std::shared_ptr<client>;

  static stream_listener listen(const asio::any_io_executor& executor,
                                const status_address& address) {
    if (address.is_unix()) return stream_listener::at_path(executor, address.path);
    return stream_listener::at_address(executor, address.tcp);
  }

  void add_shown_jobs() {
    if (!options_.roles) {
      jobs_.push_back({internals::core_of(*options_.monitor),
                       [journal = options_.journal] { return journal; },
                       internals::of(options_).tails});
      return;
    }
    for (std::size_t role = 0; role < options_.roles->size(); ++role) {
      jobs_.push_back({internals::core_of(*options_.roles->monitor(role)),
                       [roles = options_.roles, role] { return roles->journal(role); },
                       internals::tails_of(*options_.roles, role)});
    }
  }

  void on_change(std::function<void()> call) {
    if (options_.roles) return options_.roles->on_change(std::move(call));
    options_.monitor->on_change(std::move(call));
  }

  /// The jobs of which an answer tells.
  std::vector<const shown_job*> jobs_of(const std::optional<std::size_t>& role) const {
    if (role) return {&jobs_[*role]};
    std::vector<const shown_job*> all;
    for (const shown_job& each : jobs_) all.push_back(&each);
    return all;
  }

  /// Rethrows a cancellation in a handler of errors that must not end the job.
  static void pass_cancellation() {
    if (is_cancellation(std::current_exception())) throw;
  }

  /// Called from any thread, with locks held.
  void announce_change() {
    if (followers_ == 0 || is_change_noted_.exchange(true)) return;
    asio::post(strand_, [weak = weak_from_this()] {
      const auto core = weak.lock();
      if (!core) return;
      core->is_change_noted_ = false;
      core->changed_.set();
    });
  }

  // ---- clients ----------------------------------------------------------------------------------

  task<void> accept_clients() {
    accept_terms terms;
    terms.time = options_.time;
    terms.pause = limits::status_pause;
    terms.report = [log = options_.log](const std::string& problem) {
      log.debug("status: no connection can be accepted: {}", problem);
    };
    return accept_all(listener_, std::move(terms),
                      [self = shared_from_this()](accepted_connection accepted) {
                        if (!self->is_stopping_) self->admit(std::move(accepted));
                      });
  }

  /// Admits a client. If there is no room, it takes the place of the oldest idle client, if any.
  void admit(accepted_connection accepted) {
    if (clients_.size() >= limits::status_connections) {
      const auto silent = std::find_if(clients_.begin(), clients_.end(),
                                       [](const auto& entry) { return !entry->is_busy(); });
      if (silent == clients_.end()) return;
      (*silent)->stream.close();
      clients_.erase(silent);
    }
    gone_.reset();
    const auto made = new_shared<client>(std::move(accepted));
    clients_.push_back(made);
    connected_ = clients_.size();
    tasks_.spawn(serve_to_end(shared_from_this(), made));
  }

  void forget(const client_pointer& gone) {
    clients_.remove(gone);
    connected_ = clients_.size();
    if (clients_.empty()) gone_.set();
  }

  static task<void> serve_to_end(self_pointer self, client_pointer served) {
    const struct forgetting {
      self_pointer core;
      client_pointer gone;
      ~forgetting() {
        gone->stream.close();
        core->forget(gone);
      }
    } guard{self, served};
    try {
      co_await serve(self, served);
    } catch (const std::exception& failure) {
      // A cancellation, too, has nothing more to end.
      self->options_.log.debug("status: a client was disconnected: {}", failure.what());
    }
  }

  /// Answers one request after the other, until the client or a time-out ends the connection.
  static task<void> serve(self_pointer self, client_pointer served) {
    http_parser parser(http_parser::message::request, status_request_bounds);
    std::string received;
    for (bool goes_on = true; goes_on && !self->is_stopping_;) {
      time_source& time = *self->options_.time;
      const time_point deadline = time.now() + limits::status_request;
      task<void> reading = read_request(served, parser, received);
      const bool is_in_time = co_await with_deadline(time, deadline, std::move(reading));
      if (!is_in_time || parser.current() == http_parser::state::incomplete) co_return;
      goes_on = co_await answer(self, served, parser, received);
      parser.next();
    }
  }

  /// Until the request is complete or refused, or the client has hung up.
  static task<void> read_request(client_pointer served, http_parser& parser,
                                 std::string& received) {
    std::array<char, 4096> piece;
    for (;;) {
      received.erase(0, parser.feed(received));
      if (parser.current() != http_parser::state::incomplete) co_return;
      const std::size_t size = co_await served->stream.read_some(asio::buffer(piece));
      if (size == 0) co_return;
      received.append(piece.data(), size);
    }
  }

  /// Result: whether the connection goes on.
  static task<bool> answer(self_pointer self, client_pointer served, const http_parser& parser,
                           std::string& received) {
    const http_head& request = parser.head();
    const bool is_refused = parser.current() == http_parser::state::refused;
    if (!is_refused && is_command_path(self->path_within(request.path))) {
      co_return co_await answer_command(self, served, parser, received);
    }
    status_answer made = is_refused
                             ? refusal_answer(parser.refusal().status, parser.refusal().problem)
                             : self->answer_request(request, *served);
    if (made.is_stream && !made.reading && self->followers_ >= limits::status_followers) {
      made = refusal_answer(503, fmt::format("{} viewers follow the events, which is the limit",
                                             limits::status_followers));
    }
    std::shared_ptr<const std::int64_t> opened;
    if (made.reading) opened = self->open_reading(*served, made);
    if (made.output_of_rank) {
      const shown_job& job = self->jobs_[made.role.value_or(0)];
      task<status_answer> showing = show_output(self, job, *made.output_of_rank);
      made = co_await std::move(showing);
    }
    const bool has_body = request.method != "HEAD" || is_refused;
    const bool follows = made.is_stream && has_body;
    const bool goes_on = !is_refused && !made.is_stream && request.keeps_connection;
    const event_cursor cursor = cursor_of(request);
    const bool counts = follows && !made.reading;
    const follower_count counted(counts ? self.get() : nullptr, made.role);
    served->follows_events = follows;
    std::string text = response_text(made, has_body, goes_on);
    co_await send(self, served, std::move(text));
    if (follows) {
      const bool is_of_roles = self->options_.roles && !made.role;
      const shown_job& job = self->jobs_[made.role.value_or(0)];
      task<void> sending = made.reading  ? send_output(self, served, job, *made.reading, opened)
                           : is_of_roles ? send_changes(self, served)
                                         : send_events(self, served, job, cursor);
      co_await race(std::move(sending), watch_end(served));
    }
    co_return goes_on;
  }

  /// "/metrics" of "/roles/trainer/metrics", in a job of several roles.
  std::string_view path_within(std::string_view path) const {
    const auto of_role = options_.roles ? role_path_of(path) : std::nullopt;
    return of_role ? of_role->rest : path;
  }

  bool may_see_secrets(const client& reader) const {
    return detail::may_see_secrets(gate_, reader.user, ::geteuid());
  }

  status_source source_of(const shown_job& job, const client& reader) const {
    const std::shared_ptr<job_monitor_core> monitor = job.monitor;
    status_source source;
    source.view = [monitor] { return monitor->view(); };
    source.look = [monitor] { return monitor->look(); };
    source.stores = [monitor] { return monitor->stores(); };
    source.curves = [monitor] { return monitor->curves(); };
    source.records = [journal = job.journal] { return records_of(journal()); };
    source.disclosure = [monitor, has_secrets = may_see_secrets(reader)] {
      return job_disclosure{monitor->launch(), has_secrets};
    };
    return source;
  }

  static std::vector<journal_record> records_of(const std::shared_ptr<job_journal>& journal) {
    return journal ? journal->after(0) : std::vector<journal_record>();
  }

  status_answer answer_request(const http_head& request, const client& reader) const {
    const std::int64_t now_us = jobs_.front().monitor->now_us();
    if (!options_.roles) return answer_of(request, gate_, source_of(jobs_.front(), reader), now_us);
    roles_source source;
    source.view = [roles = options_.roles] { return roles->view(); };
    for (std::size_t role = 0; role < options_.roles->size(); ++role) {
      source.roles.push_back({options_.roles->name(role), source_of(jobs_[role], reader)});
    }
    return answer_of(request, gate_, source, now_us);
  }

  /// The command of a request, or the answer that says why it is none.
  std::variant<job_command, status_answer> command_of(const http_head& request,
                                                      std::string_view body,
                                                      const command_peer& peer) const {
    const auto of_role = options_.roles ? role_path_of(request.path) : std::nullopt;
    if (!of_role) return read_command(request, body, peer);
    http_head inner = request;
    inner.path = of_role->rest;
    auto read = read_command(inner, body, peer);
    auto* const command = std::get_if<job_command>(&read);
    if (command == nullptr) return read;
    if (!options_.roles->find(of_role->role)) {
      std::vector<std::string> names;
      for (std::size_t index = 0; index < options_.roles->size(); ++index) {
        names.push_back(options_.roles->name(index));
      }
      return unknown_role_answer(names);
    }
    command->role = of_role->role;
    return read;
  }

  /// Result: whether the connection goes on.
  static task<bool> answer_command(self_pointer self, client_pointer served,
                                   const http_parser& parser, std::string& received) {
    const http_head& request = parser.head();
    const command_peer peer{served->user, ::geteuid(), bool(self->options_.commands)};
    const auto read = self->command_of(request, parser.body(), peer);
    status_answer made;
    if (const auto* refused = std::get_if<status_answer>(&read)) {
      made = *refused;
    } else if (self->count_commands() >= limits::status_commands) {
      made = refusal_answer(503, fmt::format("{} commands are in progress, which is the limit",
                                             limits::status_commands));
    } else {
      served->awaits_command = true;
      std::optional<job_command::outcome> outcome;
      task<void> working = carry_out(self, std::get<job_command>(read), outcome);
      co_await race(std::move(working), watch_hang_up(served, received));
      if (!outcome) throw error(errc::connection_failed, "it did not wait for the result");
      made = command_answer(request, *outcome);
    }
    std::string text = response_text(made, request.method != "HEAD", request.keeps_connection);
    co_await send(self, served, std::move(text));
    served->awaits_command = false;
    co_return request.keeps_connection;
  }

  std::size_t count_commands() const {
    return static_cast<std::size_t>(
        std::count_if(clients_.begin(), clients_.end(),
                      [](const client_pointer& entry) { return entry->awaits_command; }));
  }

  static task<void> carry_out(self_pointer self, job_command command,
                              std::optional<job_command::outcome>& outcome) {
    const std::string_view name = to_string(command.what);
    const bool is_for_all = command.role.empty();
    const std::string whose = is_for_all ? "" : fmt::format(" for role '{}'", command.role);
    self->options_.log.info("command {}{} {}", name, whose, command.reason);
    try {
      task<job_command::outcome> work = self->options_.commands(std::move(command));
      outcome = co_await std::move(work);
    } catch (const std::exception& failure) {
      pass_cancellation();
      outcome.emplace().text = failure.what();
    }
  }

  /// Keeps bytes that the client sends meanwhile for later, up to the size of a request.
  static task<void> watch_hang_up(client_pointer served, std::string& received) {
    std::array<char, 4096> piece;
    while (received.size() <= limits::http_request_head_bytes) {
      const std::size_t size = co_await served->stream.read_some(asio::buffer(piece));
      if (size == 0) co_return;
      received.append(piece.data(), size);
    }
  }

  /// The last output of a worker, if it can be read soon enough.
  static task<status_answer> show_output(self_pointer self, const shown_job& job,
                                         std::int64_t rank) {
    time_source& time = *self->options_.time;
    const time_point deadline = time.now() + limits::shown_lines_patience;
    status_answer shown = refusal_answer(503, "the log directory does not answer");
    task<void> reading = read_output(self, job.tails, rank, shown);
    static_cast<void>(co_await with_deadline(time, deadline, std::move(reading)));
    co_return shown;
  }

  /// Leaves what is shown as it is if the log directory does not answer.
  static task<void> read_output(self_pointer self, std::shared_ptr<output_tails> tails_of_job,
                                std::int64_t rank, status_answer& shown) {
    std::optional<output_reader> reader;
    if (tails_of_job) {
      task<std::optional<output_reader>> asking = tails_of_job->of(rank);
      reader = co_await std::move(asking);
    }
    if (!reader) {
      shown = refusal_answer(404, fmt::format("rank {} is not a worker of this node", rank));
      co_return;
    }
    std::vector<output_tail> tails;
    if (!reader->may_hang) {
      tails = reader->read();
    } else {
      // Each read that hangs has a thread, until the file system answers.
      if (self->hanging_reads_.use_count() > most_hanging_reads) co_return;
      std::function<std::vector<output_tail>()> work =
          [read = reader->read, counted = self->hanging_reads_] { return read(); };
      task<std::vector<output_tail>> running =
          run_blocking<std::vector<output_tail>>(std::move(work));
      tails = co_await std::move(running);
    }
    shown = {};
    shown.type = "application/json";
    shown.body = output_json(rank, tails);
  }

  // ---- the output of all workers ----------------------------------------------------------------

  /// Result: the reading, or null and another answer.
  std::shared_ptr<const std::int64_t> open_reading(const client& reader, status_answer& made) {
    if (!may_see_secrets(reader)) {
      made = refusal_answer(403,
                            "the output of workers is shown to the user of the job and to root "
                            "over a Unix socket, and to others only with a token");
      return nullptr;
    }
    auto opened = jobs_[made.role.value_or(0)].monitor->begin_reading(*made.reading);
    if (!opened) {
      made = refusal_answer(503, fmt::format("{} clients read output, which is the limit",
                                             limits::output_readers));
    }
    return opened;
  }

  /// A client that does not read makes this wait, and the nodes with it.
  static task<void> send_output(self_pointer self, client_pointer client, const shown_job& job,
                                output_reading reading,
                                std::shared_ptr<const std::int64_t> opened) {
    const std::shared_ptr<time_source>& time = self->options_.time;
    const auto feed = new_shared<output_feed>(reading);
    const time_point patience = time->now() + limits::output_patience;
    time_point heartbeat = time->now() + limits::status_heartbeat;
    std::vector<std::string> awaited;
    std::set<std::string> told;
    output_gaps gaps;
    for (;;) {
      // What is there when the job ends is read once more.
      const bool is_last = self->is_stopping_;
      if (is_last) feed->stop_following();
      task<std::optional<std::vector<output_piece>>> reading_own =
          detail::read_output(feed, job.tails, time, limits::read_piece_bytes);
      const std::optional<std::vector<output_piece>> own = co_await std::move(reading_own);
      if (!own) throw error(errc::timed_out, "the log directory does not answer");
      output_delivery sent = job.monitor->collect_output(*opened);
      awaited = sent.awaited;
      if (feed->lacks_out()) sent.notices.emplace_back(lacking_stdout);
      std::string text;
      for (const std::string& notice : sent.notices) {
        if (told.insert(notice).second) text += output_notice(notice);
      }
      for (const output_piece& piece : *own) text += output_event(piece, gaps.take(piece));
      for (const output_piece& piece : sent.pieces) text += output_event(piece, gaps.take(piece));
      const time_point now = time->now();
      if (text.empty() && now >= heartbeat) text = ":\n\n";
      if (!text.empty()) {
        co_await client->stream.write(std::move(text));
        heartbeat = now + limits::status_heartbeat;
        continue;
      }
      const bool has_all = feed->is_drained() && (awaited.empty() || now >= patience);
      if (is_last || (has_all && !reading.follows)) break;
      // Lines with which it begins come as soon as the other nodes have heard of it.
      co_await time->sleep_until(now + limits::output_look / (awaited.empty() ? 1 : 10));
    }
    std::string end;
    if (!awaited.empty()) {
      end = output_notice("not all lines have arrived of the nodes " +
                          joined_text<std::string>(awaited, ", "));
    }
    end += output_end;
    co_await send(self, client, std::move(end));
  }

  /// A client that does not read in time is disconnected.
  static task<void> send(self_pointer self, client_pointer client, std::string text) {
    time_source& time = *self->options_.time;
    task<void> writing = client->stream.write(std::move(text));
    const time_point deadline = time.now() + limits::status_request;
    const bool is_in_time = co_await with_deadline(time, deadline, std::move(writing));
    if (!is_in_time) throw error(errc::connection_failed, "it does not read");
  }

  // ---- events -----------------------------------------------------------------------------------

  class follower_count {
   public:
    follower_count(status_server_core* core, const std::optional<std::size_t>& role) : core_(core) {
      if (!core_) return;
      ++core_->followers_;
      jobs_ = core_->jobs_of(role);
      for (const shown_job* const job : jobs_) job->monitor->begin_following();
    }
    follower_count(const follower_count&) = delete;
    follower_count& operator=(const follower_count&) = delete;
    ~follower_count() {
      if (!core_) return;
      --core_->followers_;
      for (const shown_job* const job : jobs_) job->monitor->end_following();
    }

   private:
    status_server_core* core_;
    std::vector<const shown_job*> jobs_;
  };

  /// Returns when the viewer hangs up or sends anything, which no viewer of this stream should do.
  static task<void> watch_end(client_pointer watched) {
    std::array<char, 64> piece;
    co_await watched->stream.read_some(asio::buffer(piece));
  }

  static std::string new_events(const shown_job& job, event_cursor& cursor) {
    const std::shared_ptr<job_journal> journal = job.journal();
    if (!journal) return {};
    const std::int64_t epoch = journal->epoch();
    const std::int64_t start = cursor.epoch == epoch ? cursor.sequence : 0;
    return events_text(journal->after(start), epoch, cursor);
  }

  /// The lines of a JSON document as the data of one event.
  static std::string last_event_text(std::string document) {
    document.pop_back();
    std::replace(document.begin(), document.end(), '\n', ' ');
    return fmt::format("event: ended\ndata: {}\n\n", document);
  }

  /// Unsent events wait in the journal alone, so that a slow viewer costs nothing.
  static task<void> send_events(self_pointer self, client_pointer client, const shown_job& job,
                                event_cursor cursor) {
    constexpr std::chrono::seconds tick(1);
    constexpr std::chrono::milliseconds short_tick(200);
    time_source& time = *self->options_.time;
    job_monitor_core& monitor = *job.monitor;
    time_point heartbeat = time.now() + limits::status_heartbeat;
    time_point next_tick = time.now();
    time_point look_again = time_point::max();
    std::int64_t progress_sent_us = monitor.now_us();
    // The first event is always sent: the client may have fetched its data before the last change.
    std::int64_t changes = 0;
    time_point next_change = time.now();
    co_await send(self, client, "retry: 1000\n\n");
    for (;;) {
      std::string text = new_events(job, cursor);
      const time_point now = time.now();
      const bool has_progress = monitor.progress_us() >= progress_sent_us;
      if (now >= look_again) look_again = time_point::max();
      if (has_progress && now >= next_tick) {
        const std::int64_t now_us = monitor.now_us();
        text += fmt::format("event: progress\ndata: {}\n\n",
                            progress_json(*monitor.view(), progress_sent_us, now_us));
        progress_sent_us = now_us + 1;
        next_tick = now + tick;
        look_again = next_tick;
      } else if (has_progress) {
        look_again = next_tick;
      }
      const bool has_changed = monitor.changes() != changes;
      if (has_changed && now >= next_change) {
        changes = monitor.changes();
        text += "event: changed\ndata: {}\n\n";
        next_change = now + short_tick;
      } else if (has_changed) {
        look_again = std::min(look_again, next_change);
      }
      if (text.empty() && now >= heartbeat) text = ":\n\n";
      if (!text.empty()) {
        co_await send(self, client, std::move(text));
        heartbeat = time.now() + limits::status_heartbeat;
        continue;
      }
      if (self->is_stopping_) {
        // Sends the last state unasked, because a request for it may come too late.
        const job_disclosure shown{monitor.launch(), self->may_see_secrets(*client)};
        const std::string last = job_json(*monitor.view(), monitor.now_us(), shown);
        co_await send(self, client, last_event_text(last));
        co_return;
      }
      self->changed_.reset();
      task<void> waiting = self->changed_.wait();
      co_await with_deadline(time, std::min(heartbeat, look_again), std::move(waiting));
    }
  }

  /// Tells a follower of all roles that one of them has changed, but not what has changed.
  static task<void> send_changes(self_pointer self, client_pointer client) {
    constexpr std::chrono::milliseconds tick(200);
    time_source& time = *self->options_.time;
    const roles_monitor& roles = *self->options_.roles;
    time_point heartbeat = time.now() + limits::status_heartbeat;
    time_point next_change = time.now();
    // A client that begins to follow may have looked before the last change.
    std::int64_t changes = -1;
    co_await send(self, client, "retry: 1000\n\n");
    for (;;) {
      const time_point now = time.now();
      const bool has_changed = roles.changes() != changes;
      std::string text;
      if (has_changed && now >= next_change) {
        changes = roles.changes();
        text = "event: changed\ndata: {}\n\n";
        next_change = now + tick;
      } else if (now >= heartbeat) {
        text = ":\n\n";
      }
      if (!text.empty()) {
        co_await send(self, client, std::move(text));
        heartbeat = time.now() + limits::status_heartbeat;
        continue;
      }
      if (self->is_stopping_) {
        std::string last = self->overview();
        co_await send(self, client, last_event_text(std::move(last)));
        co_return;
      }
      self->changed_.reset();
      task<void> waiting = self->changed_.wait();
      const time_point until = has_changed ? std::min(heartbeat, next_change) : heartbeat;
      co_await with_deadline(time, until, std::move(waiting));
    }
  }

  std::string overview() const {
    role_views views;
    for (const shown_job& each : jobs_) views.push_back(each.monitor->view());
    return overview_json(*options_.roles->view(), views, jobs_.front().monitor->now_us());
  }

  asio::any_io_executor strand_;
  status_server::options options_;
  /// The roles of a job; a job without roles has one.
  std::vector<shown_job> jobs_;
  stream_listener listener_;
  status_gate gate_;
  /// The oldest first.
  std::list<client_pointer> clients_;
  std::atomic<std::size_t> connected_ = 0;
  std::atomic<std::size_t> followers_ = 0;
  /// The most reads of log directories that do not answer: each has a thread.
  static constexpr long most_hanging_reads = 4;
  /// Shared by all reads that hang, also by those that nobody awaits any more.
  const std::shared_ptr<const int> hanging_reads_ = new_shared<const int>(0);
  std::atomic<bool> is_change_noted_ = false;
  bool is_stopping_ = false;
  bool makes_token_ = false;
  event_flag changed_;
  event_flag gone_;
  task_group tasks_;
};

inline status_server::options checked_status_options(status_server::options options) {
  if (options.roles) {
    const bool has_job = options.journal || options.monitor || internals::of(options).tails;
    if (has_job || options.roles->size() == 0) {
      throw error(errc::invalid_argument,
                  "a status server shows either roles, of which there is one or more, or a job "
                  "with a journal, a monitor and tails");
    }
  } else if (!options.journal || !options.monitor) {
    throw error(errc::invalid_argument, "a status server needs a journal and its monitor");
  }
  if (!options.token.empty() && !is_status_token(options.token)) {
    throw error(errc::invalid_argument, "the status token: " + allowed_token_text());
  }
  return options;
}

[[noreturn]] inline void refuse_token_file(const std::string& path, const std::string& why) {
  throw error(errc::invalid_argument,
              fmt::format("the status token in the file '{}' {}", path, why));
}

}  // namespace detail

ELASTIC_DECL status_server::status_server(asio::any_io_executor executor, options settings)
    : core_(detail::new_shared<detail::status_server_core>(
          std::move(executor), detail::checked_status_options(std::move(settings)))) {
  core_->start();
}

ELASTIC_DECL status_server::~status_server() {
  asio::dispatch(core_->strand(), [core = core_] { core->close(); });
}

ELASTIC_DECL status_address status_server::address() const { return core_->options().address; }

ELASTIC_DECL std::string status_server::url() const {
  const options& settings = core_->options();
  if (settings.address.is_unix()) return to_text(settings.address);
  endpoint shown = settings.address.tcp;
  if (shown.host == "0.0.0.0" || shown.host == "::") shown.host = host_name();
  const std::string query = core_->makes_token() ? "?token=" + settings.token : "";
  return fmt::format("http://{}/{}", to_text(shown), query);
}

ELASTIC_DECL std::size_t status_server::connections() const { return core_->connections(); }

ELASTIC_DECL task<void> status_server::stop() {
  const auto core = core_;
  co_await asio::co_spawn(core->strand(), detail::status_server_core::stop(core),
                          asio::use_awaitable);
}

ELASTIC_DECL std::string read_status_token(const std::string& path) {
  const detail::unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat file{};
  if (!fd || ::fstat(fd.get(), &file) != 0) {
    detail::refuse_token_file(path, "cannot be read: " + errno_text(errno));
  }
  if (!S_ISREG(file.st_mode)) detail::refuse_token_file(path, "is not a regular file");
  if (file.st_uid != ::geteuid() && file.st_uid != 0) {
    detail::refuse_token_file(path, "belongs to another user");
  }
  if ((file.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    detail::refuse_token_file(
        path, fmt::format("is open to others (mode {:04o}): chmod 600", file.st_mode & 07777));
  }
  std::string text(limits::status_token_bytes + 3, '\0');
  const ssize_t size = ::read(fd.get(), text.data(), text.size());
  if (size < 0) detail::refuse_token_file(path, "cannot be read: " + errno_text(errno));
  text.resize(static_cast<std::size_t>(size));
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (!detail::is_status_token(text)) {
    detail::refuse_token_file(path, "is not one: " + detail::allowed_token_text());
  }
  return text;
}

}  // namespace elastic
