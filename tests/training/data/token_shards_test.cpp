// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/corpora.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/folder_fixture.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/token_lists.h>
#include <transmute/training/data/token_shards.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace transmute {
namespace {

namespace fs = std::filesystem;
using testing::all_pairs_of;
using ::testing::AllOf;
using testing::flip;
using ::testing::HasSubstr;
using testing::ids_at;
using testing::kKey;
using testing::made_pair;
using testing::made_shards;
using testing::message_of;
using testing::Pair;
using testing::pair_at;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;
using TextInShards = testing::InFolder;

TEST_F(TextInShards, HoldWhatWasWritten) {
  for (const int token_bytes : {2, 4})
    for (const size_t pairs : {0, 1, 63, 64, 65, 128, 129, 400}) {
      ShardOptions options;
      options.token_bytes = token_bytes;
      options.pairs_per_shard = 128;
      const auto shards =
          made_shards(folder_ / (std::to_string(token_bytes) + "-" + std::to_string(pairs)), pairs, options);
      ASSERT_EQ(shards->size(), pairs);
      EXPECT_EQ(shards->counts().left_out.long_source, 2);
      const std::vector<Pair> found = all_pairs_of(*shards);
      ASSERT_EQ(found.size(), pairs);
      int64_t source_tokens = 0;
      for (size_t i = 0; i < pairs; ++i) {
        EXPECT_EQ(found[i], made_pair(i)) << i;
        source_tokens += static_cast<int64_t>(found[i].first.size());
      }
      EXPECT_EQ(shards->counts().source_tokens, source_tokens);
    }
}

TEST_F(TextInShards, HoldIdsOfMoreThanTwoBytes) {
  ShardOptions options;
  options.key = kKey;
  ShardWriter writer(folder_.path(), options);
  writer.add({{70'000, 5}, {1'000'000}, {}});
  writer.finish({});
  EXPECT_EQ(all_pairs_of(TokenShards(folder_.path(), kKey)), (std::vector<Pair>{{{70'000, 5}, {1'000'000}}}));
}

TEST_F(TextInShards, HoldLinksOfAnyNumber) {
  ShardOptions options;
  options.key = kKey;
  options.has_links = true;
  const auto links_of = [](size_t i) {  // as many as twice the tokens, all within the pair
    Ids links;
    for (size_t n = 0; n < i % 15; ++n)
      for (const Ids& side : {made_pair(i).second, made_pair(i).first})
        links.push_back(static_cast<int64_t>((i + n) % side.size()));
    return links;
  };
  ShardWriter writer(folder_.path(), options);
  for (size_t i = 0; i < 150; ++i) writer.add({made_pair(i).first, made_pair(i).second, links_of(i)});
  writer.finish({});
  const TokenShards shards(folder_.path(), kKey);
  EXPECT_TRUE(shards.has_links());
  ParallelText text;
  PairBlock read;
  for (size_t block = 0; block < shards.blocks(); ++block) {
    shards.read_block(block, read);
    for (const auto& pair : read.pairs) shards.copy(pair, text);
  }
  ASSERT_EQ(text.links.size(), 150U);
  for (size_t i = 0; i < 150; ++i) {
    EXPECT_EQ(pair_at(text, i), made_pair(i)) << i;
    EXPECT_EQ(ids_at(text.links, i), links_of(i)) << i;
  }
}

TEST_F(TextInShards, NameTheFileThatIsNotAsItWasWritten) {
  ShardOptions options;
  options.pairs_per_shard = 128;
  made_shards(folder_ / "whole", 300, options);
  const std::string text = folder_ / "text", shard = text + "/00001.tokens", index = text + "/index.json";
  const auto refusal = [&](const std::function<void()>& damage) {
    fs::remove_all(text);
    fs::copy(folder_ / "whole", text);
    damage();
    return message_of<DamagedShards>([&] { TokenShards(text, kKey); });
  };
  EXPECT_THAT(refusal([&] { fs::remove(shard); }), HasSubstr(shard));
  EXPECT_THAT(refusal([&] { fs::resize_file(shard, fs::file_size(shard) - 1); }), HasSubstr(shard));
  EXPECT_THAT(refusal([&] { fs::resize_file(shard, 10); }), HasSubstr(shard));
  EXPECT_THAT(refusal([&] { write_text(shard, read_text(shard) + "x"); }), HasSubstr(shard));
  EXPECT_THAT(refusal([&] { flip(shard, fs::file_size(shard) - 70); }), HasSubstr(shard)) << "in the table";
  EXPECT_THAT(refusal([&] { fs::copy_file(text + "/00002.tokens", shard, fs::copy_options::overwrite_existing); }),
              HasSubstr(shard));
  EXPECT_THAT(refusal([&] { fs::remove(index); }), HasSubstr(index));
  EXPECT_THAT(refusal([&] { write_text(index, "{"); }), HasSubstr(index));
  EXPECT_THAT(refusal([&] { write_text(index, std::string(2000, '[') + std::string(2000, ']')); }), HasSubstr(index));
  EXPECT_THAT(message_of<DamagedShards>([&] { TokenShards(folder_ / "whole", kKey + 1); }),
              HasSubstr("made from something else"));
}

TEST_F(TextInShards, NameTheShardOfADamagedBlockWhenItIsRead) {
  const std::string text = folder_ / "text";
  ShardOptions options;
  options.pairs_per_shard = 128;
  made_shards(text, 300, options);
  flip(text + "/00001.tokens", 5);
  const TokenShards shards(text, kKey);
  PairBlock pairs;
  for (const size_t block : {0, 1, 3, 4}) EXPECT_NO_THROW(shards.read_block(block, pairs)) << block;
  EXPECT_THAT(message_of<DamagedShards>([&] { shards.read_block(2, pairs); }),
              AllOf(HasSubstr(text + "/00001.tokens"), HasSubstr("remove the folder " + text)));
}

// Field by field: a number more, or the other truth.
TEST_F(TextInShards, AreNotReadByAnIndexThatSaysSomethingElse) {
  ShardOptions options;
  options.pairs_per_shard = 128;
  made_shards(folder_.path(), 300, options);
  const std::string index = folder_ / "index.json", sound = read_text(index);
  const nlohmann::json fields = nlohmann::json::parse(sound).flatten();
  for (const auto& [name, value] : fields.items()) {
    nlohmann::json changed = fields;
    if (value.is_boolean()) changed[name] = !value.get<bool>();
    if (value.is_number()) changed[name] = value.get<int64_t>() + 1;
    if (changed[name] == value) continue;
    write_text(index, changed.unflatten().dump());
    EXPECT_THROW(all_pairs_of(TokenShards(folder_.path(), kKey)), DamagedShards) << name;
  }
}

TEST_F(TextInShards, RefuseLinksThatLeadOutOfTheirPair) {
  ShardOptions options;
  options.key = kKey;
  options.has_links = true;
  for (const Ids& links : {Ids{2, 0}, Ids{0, 3}, Ids{0, 0, 0, 1'000'000}, Ids{0}}) {
    const TemporaryFolder folder;
    ShardWriter writer(folder.path(), options);
    writer.add({{5, 6, 7}, {8, 9}, links});
    writer.finish({});
    EXPECT_THROW(all_pairs_of(TokenShards(folder.path(), kKey)), DamagedShards) << links.back();
  }
}

// This happens when another program makes the cache anew under a running training.
TEST_F(TextInShards, ThatAreCutOffWhileTheyAreOpenAreAnErrorAndNoSignal) {
  const auto shards = made_shards(folder_.path(), 3000);
  fs::resize_file(folder_ / "00000.tokens", 100);
  EXPECT_THAT(message_of<DamagedShards>([&] { all_pairs_of(*shards); }), HasSubstr("00000.tokens"));
}

}  // namespace
}  // namespace transmute
