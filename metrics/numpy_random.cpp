// SPDX-License-Identifier: Apache-2.0
#include <transmute/metrics/numpy_random.h>

#include <array>
#include <cstddef>

namespace transmute {
inline namespace v0 {
namespace {

constexpr std::size_t kPool = 4;  // words of SeedSequence

// Hashes words, with another multiplier for each.
class WordHash {
 public:
  WordHash(uint32_t begin, uint32_t factor) : constant_(begin), factor_(factor) {}
  uint32_t operator()(uint32_t word) {
    word ^= constant_;
    constant_ *= factor_;
    word *= constant_;
    return word ^ (word >> 16U);
  }

 private:
  uint32_t constant_, factor_;
};

uint32_t mixed(uint32_t x, uint32_t y) {
  const uint32_t result = 0xca01f9ddU * x - 0x4973f715U * y;
  return result ^ (result >> 16U);
}

// SeedSequence(seed).generate_state(4, uint64).
std::array<uint64_t, 4> seed_sequence(uint64_t seed) {
  WordHash enter(0x43b0d7e5U, 0x931e8875U);
  std::array<uint32_t, kPool> pool{};
  const std::array<uint32_t, kPool> entropy{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32U), 0, 0};
  for (std::size_t i = 0; i < kPool; ++i) pool[i] = enter(entropy[i]);
  for (std::size_t from = 0; from < kPool; ++from)
    for (std::size_t to = 0; to < kPool; ++to)
      if (from != to) pool[to] = mixed(pool[to], enter(pool[from]));
  WordHash leave(0x8b51f9ddU, 0x58f38dedU);
  std::array<uint64_t, 4> state{};
  for (std::size_t i = 0; i < 2 * state.size(); ++i)
    state[i / 2] |= static_cast<uint64_t>(leave(pool[i % kPool])) << (32 * (i % 2));
  return state;
}

}  // namespace

NumpyRandom::NumpyRandom(uint64_t seed) {
  const std::array<uint64_t, 4> words = seed_sequence(seed);
  increment_ = (Wide{words[2]} << 65U) | (Wide{words[3]} << 1U) | 1U;
  step();
  state_ += (Wide{words[0]} << 64U) | words[1];
  step();
}

void NumpyRandom::step() {
  constexpr Wide kFactor = (Wide{0x2360ed051fc65da4U} << 64U) | 0x4385df649fccf645U;
  state_ = state_ * kFactor + increment_;
}

uint64_t NumpyRandom::next64() {
  step();
  const auto high = static_cast<uint64_t>(state_ >> 64U);
  const uint64_t folded = high ^ static_cast<uint64_t>(state_), turn = high >> 58U;
  return (folded >> turn) | (folded << ((64 - turn) % 64));
}

uint32_t NumpyRandom::next32() {
  if (has_kept_) {
    has_kept_ = false;
    return kept_;
  }
  const uint64_t both = next64();
  kept_ = static_cast<uint32_t>(both >> 32U);
  has_kept_ = true;
  return static_cast<uint32_t>(both);
}

// Lemire (2019): the upper half of a product, drawn again where the lower half would favor some numbers.
uint32_t NumpyRandom::below(uint32_t count) {
  if (count == 1) return 0;
  uint64_t product = static_cast<uint64_t>(next32()) * count;
  if (static_cast<uint32_t>(product) < count) {
    const uint32_t threshold = (0U - count) % count;
    while (static_cast<uint32_t>(product) < threshold) product = static_cast<uint64_t>(next32()) * count;
  }
  return static_cast<uint32_t>(product >> 32U);
}

}  // namespace v0
}  // namespace transmute
