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

#include <string>
#include <string_view>

namespace elastic::detail {

/// Shows output on a descriptor of this process: a terminal, a pipe, a file, a socket.
///
/// A slow reader makes `write` wait, and with it the processes whose output it is, but never the
/// event loop. The descriptor's flags stay unchanged: other processes share them and do not expect
/// a non-blocking stdout. When the other end is gone, the writer logs that once and then drops all
/// output.
///
/// Thread-safety: `write` and `break_line` may be called from any strand.
class console_writer final : public output_sink {
 public:
  /// `fd` is borrowed: the writer has its own descriptor. If `fd` is not open, all output is
  /// dropped.
  ELASTIC_DECL console_writer(const asio::any_io_executor& executor, int fd, logger log = {});
  ELASTIC_DECL task<void> write(std::string_view bytes) override;
  void break_line() override { target_.break_line(); }

 private:
  using turn_channel = asio::experimental::concurrent_channel<void(asio_error_code, int)>;

  struct give_back {
    turn_channel& turn;
    ELASTIC_DECL ~give_back();
  };

  ELASTIC_DECL task<void> wait_for_room();

  // Creates the epoll descriptor `room_`. Asio makes every descriptor that it waits on
  // non-blocking, which all processes with the same stdout would notice; so it waits on this one
  // instead.
  ELASTIC_DECL bool open_room();
  ELASTIC_DECL void give_up(int number);

  logger log_;
  std::string name_;
  console_target target_;
  bool is_dropping_ = false;
  // Becomes readable when the target has room; made when first needed.
  asio::posix::stream_descriptor room_;
  turn_channel turn_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/console_writer.ipp>
#endif
