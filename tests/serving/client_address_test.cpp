// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/serving/client_address.h>

namespace transmute {
namespace {

TEST(ClientAddress, HasNoPort) {
  EXPECT_EQ(client_of_address("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(client_of_address("192.0.2.7:4711"), "192.0.2.7");
}

TEST(ClientAddress, IsTheNetworkOfAnIPv6Address) {
  for (const char* address : {"2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", "[2001:DB8:1:2::1]:443",
                              "[2001:db8:1:2::3]", "2001:0db8:0001:0002:0:0:0:9", "2001:db8:1:2::1%eth0"})
    EXPECT_EQ(client_of_address(address), "2001:db8:1:2::/64") << address;
  EXPECT_NE(client_of_address("2001:db8:1:3::1"), client_of_address("2001:db8:1:2::1"));
}

TEST(ClientAddress, IsTheSameWhetherMappedIntoIPv6OrNot) {
  for (const char* address :
       {"::ffff:192.0.2.7", "::FFFF:c000:207", "[::ffff:192.0.2.7]:80", "0:0:0:0:0:ffff:192.0.2.7"})
    EXPECT_EQ(client_of_address(address), "192.0.2.7") << address;
}

TEST(ClientAddress, IsWhateverElseAProxyWrites) {
  for (const char* address : {"", "unknown", "_hidden", "[", "[]", "1.2.3", "[::1", ":", "300.1.1.1:80"})
    EXPECT_EQ(client_of_address(address), std::string(address) == "[::1" ? "::/64" : address) << address;
}

}  // namespace
}  // namespace transmute
