// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_channel.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/detail/console_target.hpp>
#include <elastic/process/output_sink.hpp>

#include <string_view>

namespace elastic::detail {

/// Shows output on a descriptor of this process: a terminal, a pipe, a file, a socket.
///
/// A reader that is slow makes `write` wait, and so the processes whose output it is; never the
/// loop. The descriptor's own flags stay as they are: they are shared with other processes, which
/// would be surprised by a stdout that does not block. When the other end has gone, that is said
/// once in the log, and everything is dropped from then on.
///
/// Thread-safety: `write` may be called from any strand.
class console_writer final : public output_sink {
 public:
  /// `fd` is borrowed: the writer keeps a descriptor of its own. One that is not open takes
  /// everything and shows nothing.
  ELASTIC_DECL console_writer(const asio::any_io_executor& executor, int fd, logger log = {});
  ELASTIC_DECL task<void> write(std::string_view bytes) override;

 private:
  using turn_channel = asio::experimental::concurrent_channel<void(asio_error_code, int)>;

  struct give_back {
    turn_channel& turn;
    ELASTIC_DECL ~give_back();
  };

  ELASTIC_DECL task<void> wait_for_room();

  // Waits by an epoll of its own around the target: Asio makes what it waits for not block, which
  // all processes with the same stdout would notice.
  ELASTIC_DECL bool open_room();
  ELASTIC_DECL void give_up(int number);

  logger log_;
  int name_;
  console_target target_;
  bool is_dropping_ = false;
  // Becomes readable when the target has room; made when first needed.
  asio::posix::stream_descriptor room_;
  turn_channel turn_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/console_writer.ipp>
#endif
