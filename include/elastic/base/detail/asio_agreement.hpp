// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

// Objects of a program have to agree in Asio's version, and in each of its settings that changes a
// class: most classes of the library have a member of Asio's types.

#if defined(ELASTIC_USE_BOOST_ASIO)
#include <boost/asio/execution_context.hpp>
#include <boost/asio/version.hpp>
ELASTIC_AGREE(elastic_has_one_version_of_asio_in_one_object_and_another_in_another,
              BOOST_ASIO_VERSION);
#else
#include <asio/execution_context.hpp>
#include <asio/version.hpp>
ELASTIC_AGREE(elastic_has_one_version_of_asio_in_one_object_and_another_in_another, ASIO_VERSION);
#endif

#if (!defined(ELASTIC_USE_BOOST_ASIO) && defined(ASIO_HAS_IO_URING_AS_DEFAULT)) || \
    (defined(ELASTIC_USE_BOOST_ASIO) && defined(BOOST_ASIO_HAS_IO_URING_AS_DEFAULT))
ELASTIC_AGREE(elastic_has_asio_on_io_uring_in_one_object_and_not_in_another, 1);
#else
ELASTIC_AGREE(elastic_has_asio_on_io_uring_in_one_object_and_not_in_another, 2);
#endif
#if (!defined(ELASTIC_USE_BOOST_ASIO) && defined(ASIO_HAS_THREADS)) || \
    (defined(ELASTIC_USE_BOOST_ASIO) && defined(BOOST_ASIO_HAS_THREADS))
ELASTIC_AGREE(elastic_has_threads_of_asio_in_one_object_and_not_in_another, 1);
#else
ELASTIC_AGREE(elastic_has_threads_of_asio_in_one_object_and_not_in_another, 2);
#endif
#if (!defined(ELASTIC_USE_BOOST_ASIO) && defined(ASIO_ENABLE_HANDLER_TRACKING)) || \
    (defined(ELASTIC_USE_BOOST_ASIO) && defined(BOOST_ASIO_ENABLE_HANDLER_TRACKING))
ELASTIC_AGREE(elastic_has_handler_tracking_in_one_object_and_not_in_another, 1);
#else
ELASTIC_AGREE(elastic_has_handler_tracking_in_one_object_and_not_in_another, 2);
#endif
#if (!defined(ELASTIC_USE_BOOST_ASIO) && defined(ASIO_USE_TS_EXECUTOR_AS_DEFAULT)) || \
    (defined(ELASTIC_USE_BOOST_ASIO) && defined(BOOST_ASIO_USE_TS_EXECUTOR_AS_DEFAULT))
ELASTIC_AGREE(elastic_has_executors_of_the_ts_in_one_object_and_not_in_another, 1);
#else
ELASTIC_AGREE(elastic_has_executors_of_the_ts_in_one_object_and_not_in_another, 2);
#endif
