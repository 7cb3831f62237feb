#include "server/web_files.h"

namespace inlay {

HttpResponse render_web_file(const WebFile& file) {
  HttpResponse response;
  response.content_type = file.content_type;
  response.body = file.bytes;
  // Nothing comes from elsewhere, and no other page may frame this one.
  response.headers = {
      {"Content-Security-Policy", "default-src 'self'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"Cache-Control", "no-cache"}};
  return response;
}

}  // namespace inlay
