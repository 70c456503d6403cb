// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/client_address.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>

namespace transmute {
inline namespace v0 {

namespace {

// "[2001:db8::1]:443", "2001:db8::1%eth0" and "192.0.2.1:443" without brackets, zone and port.
std::string host_of(const std::string& address) {
  if (address.front() == '[') return address.substr(1, address.find_first_of("]%") - 1);
  if (std::count(address.begin(), address.end(), ':') == 1) return address.substr(0, address.find(':'));
  return address.substr(0, address.find('%'));
}

}  // namespace

std::string client_of_address(const std::string& address) {
  if (address.empty()) return address;
  const std::string host = host_of(address);
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return host;
  in6_addr v6{};
  if (::inet_pton(AF_INET6, host.c_str(), &v6) != 1) return address;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (IN6_IS_ADDR_V4MAPPED(&v6)) {
    std::copy(std::begin(v6.s6_addr) + 12, std::end(v6.s6_addr), reinterpret_cast<unsigned char*>(&v4.s_addr));
    return ::inet_ntop(AF_INET, &v4, text.data(), text.size());
  }
  std::fill(std::begin(v6.s6_addr) + 8, std::end(v6.s6_addr), static_cast<unsigned char>(0));
  return std::string(::inet_ntop(AF_INET6, &v6, text.data(), text.size())) + "/64";
}

}  // namespace v0
}  // namespace transmute
