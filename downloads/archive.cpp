// SPDX-License-Identifier: Apache-2.0
#include <transmute/downloads/archive.h>

#include <archive.h>
#include <archive_entry.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>

#include <clocale>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace fs = std::filesystem;

namespace {

constexpr int kMaxEntries = 1000;
constexpr uint64_t kMaxRatio = 100, kFreeBytes = 64 << 20;

// True for the files that tell people about a model.
bool is_notice(const std::string& name) {
  return ends_in(name, ".md") || begins_with(name, "README") || begins_with(name, "LICENSE");
}

bool is_of_a_model(const fs::path& path) {
  // Argos Translate splits sentences with the networks in stanza/; macOS adds the others.
  for (const fs::path& part : path)
    if (part == "stanza" || part == "__MACOSX" || begins_with(part.string(), "._")) return false;
  const std::string name = path.filename().string();
  for (const char* ending :
       {".json", ".yaml", ".yml", ".txt", ".model", ".spm", ".bin", ".npz", ".safetensors", ".pt", ".ckpt"})
    if (ends_in(name, ending)) return true;
  return is_notice(name);
}

// libarchive loses the names of a zip archive that the locale of the thread cannot represent.
class Utf8Locale {
 public:
  Utf8Locale() : utf8_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)), before_(uselocale(utf8_)) {}
  ~Utf8Locale() {
    uselocale(before_);
    if (utf8_ != nullptr) freelocale(utf8_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t utf8_;  // null if the system has no such locale, which changes nothing
  locale_t before_;
};

// The archive, opened for the formats in which models are packed.
class Archive {
 public:
  explicit Archive(const std::string& path) : path_(path), archive_(archive_read_new(), archive_read_free) {
    if (!archive_) throw std::bad_alloc();
    archive* const reader = archive_.get();
    archive_read_support_format_zip_seekable(reader);
    archive_read_support_format_tar(reader);
    archive_read_support_filter_gzip(reader);
    archive_read_support_filter_bzip2(reader);
    archive_read_support_filter_xz(reader);
    archive_read_support_filter_zstd(reader);
    check(archive_read_open_filename(reader, path.c_str(), 1 << 16));
  }

  // Nothing at the end.
  archive_entry* next() {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(archive_.get(), &entry);
    if (result == ARCHIVE_EOF) return nullptr;
    check(result);
    return entry;
  }

  // Bytes of the present entry; 0 at its end.
  size_t read(std::vector<char>& block) {
    const la_ssize_t count = archive_read_data(archive_.get(), block.data(), block.size());
    if (count < 0) check(ARCHIVE_FATAL);
    return static_cast<size_t>(count);
  }

  [[noreturn]] void refuse(const std::string& what) const { throw BadArchive(path_ + ": " + without_control(what)); }

 private:
  void check(int result) const {
    if (result == ARCHIVE_OK || result == ARCHIVE_WARN) return;
    const char* const why = archive_error_string(archive_.get());
    refuse(fmt::format("no archive of a model, or a damaged one: {}", why ? why : "it cannot be read"));
  }

  Utf8Locale locale_{};
  std::string path_;
  std::unique_ptr<archive, int (*)(archive*)> archive_;
};

// The path of an entry within the folder that it is unpacked to.
fs::path path_of(const Archive& archive, archive_entry* entry) {
  const char* const name = archive_entry_pathname(entry);
  if (name == nullptr || *name == '\0') archive.refuse("an entry has no name");
  const fs::path path(name);
  if (path.is_absolute()) archive.refuse(fmt::format("an entry has the absolute path {}", name));
  for (const fs::path& part : path)
    if (part == ".." || part.string().size() > 255)
      archive.refuse(fmt::format("an entry would be outside the model's folder: {}", name));
  return path.lexically_normal();
}

// The only folder in `folder` gives up its content if nothing but notices is beside it. Its notices replace those of
// the same name.
void leave_out_single_folder(const std::string& folder) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory())
      folders.push_back(entry.path());
    else if (!is_notice(entry.path().filename().string()))
      return;
  if (folders.size() != 1) return;
  const fs::path outer = path_in(folder, ".outer");  // no entry in it has this name
  fs::rename(folders[0], outer);
  std::vector<fs::path> inner;
  for (const auto& entry : fs::directory_iterator(outer)) inner.push_back(entry.path());
  for (const fs::path& path : inner) fs::rename(path, fs::path(folder) / path.filename());
  fs::remove(outer);
}

}  // namespace

std::string archive_stem(const std::string& name) {
  for (const char* ending : {".argosmodel", ".zip", ".tar.gz", ".tar.xz", ".tar.bz2", ".tar.zst", ".tgz", ".tar"})
    if (ends_in(name, ending)) return name.substr(0, name.size() - std::string(ending).size());
  return "";
}

void unpack_model(const std::string& path, const std::string& folder) {
  Archive archive(path);
  uint64_t left = fs::file_size(path) * kMaxRatio + kFreeBytes;  // which no file's size makes overflow
  std::vector<char> block(1 << 20);
  int entries = 0, files = 0;
  while (archive_entry* const entry = archive.next()) {
    if (++entries > kMaxEntries) archive.refuse(fmt::format("has more than {} entries", kMaxEntries));
    const fs::path name = path_of(archive, entry);
    if (archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr)
      archive.refuse(fmt::format("has the link {}, which no model needs", name.string()));
    if (archive_entry_filetype(entry) == AE_IFDIR) continue;
    if (archive_entry_filetype(entry) != AE_IFREG)
      archive.refuse(fmt::format("{} is neither a file nor a folder", name.string()));
    if (!is_of_a_model(name)) continue;
    const fs::path target = fs::path(folder) / name;
    if (fs::exists(target)) archive.refuse(fmt::format("has {} twice", name.string()));
    fs::create_directories(target.parent_path());
    AtomicFile file(target.string());
    while (const size_t count = archive.read(block)) {
      if (count > left) archive.refuse("would become far larger than a packed model does");
      left -= count;
      file.write(block.data(), count);
    }
    file.commit();
    ++files;
  }
  if (files == 0) archive.refuse("has no files of a model");
  leave_out_single_folder(folder);
}

}  // namespace v0
}  // namespace transmute
