# Everything comes from Debian 12; scripts/install-dependencies names the packages.
find_package(Threads REQUIRED)
find_package(tl-expected REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(simdjson REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Boost 1.81 REQUIRED)  # Asio and Beast: headers only
find_package(OpenSSL REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
if(INLAY_ONEDNN)
  find_package(dnnl 2.6 REQUIRED)  # libdnnl-dev; version 3 has another interface
  find_package(OpenMP REQUIRED)    # the threads of Debian's oneDNN, to tell it to use none
endif()
if(INLAY_TESTS)
  find_package(GTest REQUIRED)
endif()
