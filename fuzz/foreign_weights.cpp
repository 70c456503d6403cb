// SPDX-License-Identifier: Apache-2.0
// Weights and vocabularies as other programs write them: CTranslate2's, Marian's, PyTorch's and Transformers'.
#include <transmute/formats/foreign/ctranslate2_file.h>
#include <transmute/formats/foreign/hugging_face_weights.h>
#include <transmute/formats/foreign/marian_files.h>
#include <transmute/formats/foreign/tokenizer_json.h>
#include <transmute/formats/foreign/vocabulary.h>
#include <transmute/fuzz/fuzz.h>

#include <filesystem>

using namespace transmute;

namespace {

// A tensor's memory is what its file has of it, at most twice for 16-bit types.
void require_no_more_than(size_t bytes, const NamedArrays& arrays) {
  size_t total = 0;
  for (const auto& [name, array] : arrays) total += array.bytes();
  fuzz::require(total <= 1000 * bytes + 100'000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const uint8_t kind = input.byte() % 7;
  const std::string bytes = input.rest();
  const std::string& folder = fuzz::scratch_folder();
  for (const char* name : {"/model.safetensors", "/pytorch_model.bin", "/model.safetensors.index.json"})
    std::filesystem::remove(folder + name);
  fuzz::may_refuse([&] {
    const fuzz::MemoryFile file(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    if (kind == 0) formats::CTranslate2File read(file.path());
    if (kind == 1) require_no_more_than(bytes.size(), formats::read_marian_file(file.path()).tensors);
    if (kind == 2) {
      fuzz::write_bytes(folder + "/vocab.yml", bytes);
      formats::read_marian_vocabulary(folder + "/vocab.yml", 1000);
    }
    if (kind == 3) {
      formats::read_flat_yaml(bytes);
      formats::parse_marian_decoder(bytes, "decoder.yml");
    }
    if (kind == 6) {
      fuzz::write_bytes(folder + "/tokenizer.json", bytes);
      const auto read = formats::read_tokenizer_json(formats::JsonConfig(folder + "/tokenizer.json"), 1000);
      formats::Vocabulary vocabulary;
      vocabulary.pieces = read.pieces;
      formats::make_subword_model(read.sentencepiece, "tokenizer.json",
                                  formats::renumber(vocabulary, "tokenizer.json"));
    } else if (kind >= 4) {
      fuzz::write_bytes(folder + (kind == 4 ? "/pytorch_model.bin" : "/model.safetensors"), bytes);
      formats::read_hugging_face_weights(folder, one_by_one);
    }
  });
  return 0;
}
