# Writes OUTPUT, a C++ source that holds the files of the folder WEB; src/server/web_files.h declares it. Run by the build.
set(types html text/html css text/css js text/javascript svg image/svg+xml)
file(GLOB files RELATIVE ${WEB} ${WEB}/*)
list(SORT files)
set(arrays "")
set(rows "")
foreach(file ${files})
  file(READ ${WEB}/${file} hex HEX)
  file(SIZE ${WEB}/${file} size)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(MAKE_C_IDENTIFIER ${file} name)
  string(REGEX REPLACE "^.*\\." "" suffix ${file})
  list(FIND types ${suffix} at)
  if(at EQUAL -1)
    message(FATAL_ERROR "web/${file}: no content type for .${suffix}")
  endif()
  math(EXPR at "${at} + 1")
  list(GET types ${at} type)
  if(type MATCHES "^text/")
    set(type "${type}; charset=utf-8")
  endif()
  string(APPEND arrays "constexpr unsigned char k_${name}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${file}\", \"${type}\", {reinterpret_cast<const char*>(k_${name}), ${size}}},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made of the folder web/ by cmake/inlay_web_files.cmake.
#include \"server/web_files.h\"

namespace inlay {
namespace {

${arrays}
}  // namespace

std::span<const WebFile> web_files() {
  static const WebFile files[] = {
${rows}  };
  return files;
}

}  // namespace inlay
")
