# Asio's own io_uring backend, for users who run the rest of their program on it. Older versions
# deliver completions to the wrong socket once the ring has wrapped, lose the operations of a
# descriptor that was closed while one was pending, and leave a timeout behind that outlives its
# stack frame; so they are refused.
set(elastic_asio_io_uring_since 1.28.1)

if(ELASTIC_ASIO_IO_URING)
  if(Asio_VERSION VERSION_LESS elastic_asio_io_uring_since)
    message(FATAL_ERROR
      "ELASTIC_ASIO_IO_URING needs Asio ${elastic_asio_io_uring_since} or later: the io_uring "
      "backend of Asio ${Asio_VERSION} (${Asio_INCLUDE_DIR}) loses and misdelivers completions. "
      "Leave the option off (elastic's own ring works with every Asio) or set Asio_ROOT to a "
      "later Asio.")
  endif()
  target_compile_definitions(elastic INTERFACE ASIO_HAS_IO_URING=1 ASIO_DISABLE_EPOLL=1)
  target_link_libraries(elastic INTERFACE Liburing::liburing)
endif()
