#include "hub/file_hash.h"

#include <openssl/evp.h>

#include <array>
#include <memory>

#include "base/file.h"

namespace inlay {
namespace {

struct DigestDeleter {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

std::string hex(const unsigned char* bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

Result<std::string> digest(const EVP_MD* method, std::string_view before, const MappedFile& file) {
  constexpr size_t kPart = size_t{8} << 20;  // let go after it was read, so that a large file doesn't fill memory
  const std::unique_ptr<EVP_MD_CTX, DigestDeleter> context(EVP_MD_CTX_new());
  std::array<unsigned char, EVP_MAX_MD_SIZE> result = {};
  unsigned int size = 0;
  bool is_good = context != nullptr && EVP_DigestInit_ex(context.get(), method, nullptr) == 1 &&
                 EVP_DigestUpdate(context.get(), before.data(), before.size()) == 1;
  const std::span<const std::byte> bytes = file.bytes();
  for (size_t begin = 0; is_good && begin < bytes.size(); begin += kPart) {
    const std::span<const std::byte> part = bytes.subspan(begin, std::min(kPart, bytes.size() - begin));
    is_good = EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1;
    file.release(begin, part.size());
  }
  is_good = is_good && EVP_DigestFinal_ex(context.get(), result.data(), &size) == 1;
  if (!is_good) return fail(ErrorCode::kInternal, "OpenSSL cannot compute a hash");
  return hex(result.data(), size);
}

}  // namespace

Result<> check_etag(const std::filesystem::path& file, std::string_view etag) {
  const bool is_hex = etag.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!is_hex || (etag.size() != 64 && etag.size() != 40)) return {};
  const MappedFile map = TRY(MappedFile::open(file));
  const bool is_git = etag.size() == 40;
  std::string before;
  if (is_git) before.append(fmt::format("blob {}", map.bytes().size())).push_back('\0');
  const std::string found = TRY(digest(is_git ? EVP_sha1() : EVP_sha256(), before, map));
  if (found == etag) return {};
  return fail(ErrorCode::kCorrupt, "{} is {}, wanted {}", is_git ? "git hash" : "SHA-256", found, etag);
}

}  // namespace inlay
