// A zip file ends with a record that says where its directory lies; the directory says where the local header of each entry
// lies, and the entry's bytes follow that. Numbers that don't fit 16 or 32 bits are all ones there and stand in a 64-bit record
// or an extra field instead (APPNOTE.TXT 4.3 - 4.5).
#include "weights/zip_directory.h"

#include <algorithm>
#include <string>

#include "weights/byte_reader.h"

namespace inlay {
namespace {

constexpr std::string_view kLocalMark("PK\3\4", 4);
constexpr std::string_view kEntryMark("PK\1\2", 4);
constexpr std::string_view kEndMark("PK\5\6", 4);
constexpr std::string_view kEnd64Mark("PK\6\6", 4);
constexpr std::string_view kEnd64LocatorMark("PK\6\7", 4);
constexpr size_t kEndSize = 22;
constexpr size_t kEnd64Size = 56;
constexpr size_t kEnd64LocatorSize = 20;
constexpr size_t kEntrySize = 46;
constexpr size_t kLocalSize = 30;
constexpr size_t kMaxComment = 65535;
constexpr uint16_t kExtra64 = 1;

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> file, std::string_view name)
      : text_(reinterpret_cast<const char*>(file.data()), file.size()), name_(name) {}

  Result<ZipDirectory> read() {
    const Place place = TRY(find_directory());
    if (place.entries > kMaxZipEntries || place.entries * kEntrySize > text_.size()) {
      return corrupt(fmt::format("a directory of {} entries in {} bytes", place.entries, text_.size()));
    }
    ZipDirectory directory;
    uint64_t position = place.begin;
    for (uint64_t i = 0; i < place.entries; ++i) TRY_VOID(read_entry(position, directory));
    return directory;
  }

 private:
  struct Place {
    uint64_t begin = 0;
    uint64_t entries = 0;
  };

  template <class T>
  T number(uint64_t position) const {
    T value = 0;
    std::memcpy(&value, text_.data() + position, sizeof(T));
    return value;
  }
  bool holds(uint64_t position, uint64_t size) const { return position <= text_.size() && size <= text_.size() - position; }
  bool is_at(uint64_t position, size_t size, std::string_view mark) const {
    return holds(position, size) && text_.substr(position, mark.size()) == mark;
  }
  tl::unexpected<Error> corrupt(std::string_view what) const {
    return fail(ErrorCode::kCorrupt, "{}: zip file: {}; truncated?", name_, what);
  }

  Result<Place> find_directory() const {
    const size_t first = text_.size() > kEndSize + kMaxComment ? text_.size() - kEndSize - kMaxComment : 0;
    const size_t end = text_.rfind(kEndMark);
    if (end == std::string_view::npos || end < first || !holds(end, kEndSize)) return corrupt("no end record");
    if (end >= kEnd64LocatorSize && is_at(end - kEnd64LocatorSize, kEnd64LocatorSize, kEnd64LocatorMark)) {
      const uint64_t end64 = number<uint64_t>(end - kEnd64LocatorSize + 8);
      if (!is_at(end64, kEnd64Size, kEnd64Mark)) return corrupt("the 64-bit end record is not where it should be");
      return Place{number<uint64_t>(end64 + 48), number<uint64_t>(end64 + 32)};
    }
    return Place{number<uint32_t>(end + 16), number<uint16_t>(end + 10)};
  }

  // Reads the directory's entry at `position` and moves on to the next.
  Result<> read_entry(uint64_t& position, ZipDirectory& directory) const {
    if (!is_at(position, kEntrySize, kEntryMark)) return corrupt(fmt::format("no directory entry at byte {}", position));
    const uint64_t name_size = number<uint16_t>(position + 28);
    const uint64_t extra_size = number<uint16_t>(position + 30);
    const uint64_t comment_size = number<uint16_t>(position + 32);
    if (!holds(position + kEntrySize, name_size + extra_size + comment_size)) return corrupt("an entry leaves the file");
    const std::string_view entry_name = text_.substr(position + kEntrySize, name_size);
    Sizes sizes = {number<uint32_t>(position + 24), number<uint32_t>(position + 20), number<uint32_t>(position + 42)};
    TRY_VOID(widen(sizes, text_.substr(position + kEntrySize + name_size, extra_size)));
    const bool is_plain = number<uint16_t>(position + 10) == 0 && (number<uint16_t>(position + 8) & 1) == 0;
    const ZipEntry entry = TRY(locate(sizes, is_plain));
    if (!directory.emplace(entry_name, entry).second)
      return corrupt(fmt::format("'{}' is listed twice", printable(entry_name)));
    position += kEntrySize + name_size + extra_size + comment_size;
    return {};
  }

  struct Sizes {
    uint64_t plain = 0;
    uint64_t stored = 0;
    uint64_t header = 0;
  };

  // Takes what is all ones from the 64-bit extra field, which holds just those, in this order.
  Result<> widen(Sizes& sizes, std::string_view extra) const {
    const std::string_view wide = extra_field(extra);
    size_t used = 0;
    for (uint64_t* const value : {&sizes.plain, &sizes.stored, &sizes.header}) {
      if (*value != 0xffffffffU) continue;
      if (wide.size() - used < 8) {
        if (wide.empty()) continue;  // Four gigabytes less one byte.
        return corrupt("a 64-bit extra field is too short");
      }
      std::memcpy(value, wide.data() + used, 8);
      used += 8;
    }
    return {};
  }

  static std::string_view extra_field(std::string_view extra) {
    while (extra.size() >= 4) {
      uint16_t id = 0;
      uint16_t size = 0;
      std::memcpy(&id, extra.data(), 2);
      std::memcpy(&size, extra.data() + 2, 2);
      if (size > extra.size() - 4) break;
      if (id == kExtra64) return extra.substr(4, size);
      extra.remove_prefix(size_t{4} + size);
    }
    return {};
  }

  Result<ZipEntry> locate(const Sizes& sizes, bool is_plain) const {
    if (!is_at(sizes.header, kLocalSize, kLocalMark)) return corrupt(fmt::format("no entry at byte {}", sizes.header));
    const uint64_t begin =
        sizes.header + kLocalSize + number<uint16_t>(sizes.header + 26) + number<uint16_t>(sizes.header + 28);
    if (!holds(begin, sizes.stored)) {
      return corrupt(fmt::format("an entry of {} bytes at byte {} of {}", sizes.stored, begin, text_.size()));
    }
    return ZipEntry{is_plain && sizes.plain == sizes.stored, begin, begin + sizes.stored};
  }

  static std::string printable(std::string_view text) {
    std::string result(text.substr(0, 200));
    std::replace_if(
        result.begin(), result.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }, '?');
    return result;
  }

  std::string_view text_;
  std::string_view name_;
};

}  // namespace

bool is_zip(std::span<const std::byte> file) { return file.size() >= 4 && std::memcmp(file.data(), kLocalMark.data(), 4) == 0; }

Result<ZipDirectory> read_zip_directory(std::span<const std::byte> file, std::string_view name) {
  return ZipReader(file, name).read();
}

}  // namespace inlay
