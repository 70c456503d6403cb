// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/serving/http_connection.h>

#include <cstdint>
#include <memory>

namespace transmute {
inline namespace v0 {
namespace http {

/// Makes the handler's view of a request. It keeps its connection, and lets go of it on the server's thread.
std::shared_ptr<HttpExchange> make_exchange(std::shared_ptr<Connection> connection, uint64_t ticket,
                                            boost::asio::io_context& loop, HttpRequest request,
                                            std::shared_ptr<RequestState> state);

}  // namespace http
}  // namespace v0
}  // namespace transmute
