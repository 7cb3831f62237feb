// KServe v2 over HTTP, as JSON and with binary tensors behind it: the JSON then ends at the first line feed of the input.
#include "fuzz_target.h"
#include "read_body.h"
#include "server/api/dialects.h"

namespace inlay {
namespace {

bool read_infer(std::string_view body, const HttpHeaders& headers) {
  HttpRequest request;
  request.body = body;
  request.headers = headers;
  const Result<DialectCall> call = parse_kserve(request, "m");
  if (call) check_dialect_call(*call);
  return call.has_value();
}

}  // namespace

bool fuzz_kserve(std::string_view bytes) {
  const bool is_json = read_infer(bytes, {});
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return is_json;
  const std::string json_size = std::to_string(end);
  return read_infer(std::string(bytes.substr(0, end)) + std::string(bytes.substr(end + 1)),
                    {{"inference-header-content-length", json_size}}) ||
         is_json;
}

}  // namespace inlay
