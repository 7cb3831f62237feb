# Flags that every target of the project gets.
add_library(inlay_flags INTERFACE)
target_compile_options(inlay_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror)
# TRY is a statement expression, which -Wpedantic only tolerates behind __extension__.
target_include_directories(inlay_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
# Their definitions change the layout of classes (simdjson's parser grows a member with threads), so every object file of a
# program must see the same ones.
target_link_libraries(inlay_flags INTERFACE fmt::fmt spdlog::spdlog simdjson::simdjson)
if(INLAY_SANITIZE)
  target_compile_options(inlay_flags INTERFACE -fsanitize=${INLAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(inlay_flags INTERFACE -fsanitize=${INLAY_SANITIZE})
endif()
if(INLAY_SANITIZE MATCHES thread)
  # GCC warns that it does not see Asio's fences, which stand beside locks that it does see.
  target_compile_options(inlay_flags INTERFACE -Wno-tsan)
endif()

# Test programs always, and the product where CMAKE_UNITY_BUILD says so (all presets but debug), compile a layer's files eight
# at a time, in half the time or less. The debug preset takes each file alone, so that one which forgets an include is seen.
set(in_groups -Wno-subobject-linkage)  # types of unnamed namespaces in included files
if(CMAKE_UNITY_BUILD)
  target_compile_options(inlay_flags INTERFACE ${in_groups})
endif()

# inlay_module(NAME DEPENDS library...): the layer in this folder. Every *.cc is a source; every *_test.cc goes into the
# folder's test program, so a new file needs no edit here.
function(inlay_module name)
  cmake_parse_arguments(PARSE_ARGV 1 module "" "" "DEPENDS")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(NOT sources)
    return()
  endif()
  add_library(inlay_${name} OBJECT ${sources})
  target_link_libraries(inlay_${name} PUBLIC inlay_flags ${module_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY INLAY_MODULES inlay_${name})
  if(INLAY_TESTS AND tests)
    add_executable(${name}_test ${tests})
    set_target_properties(${name}_test PROPERTIES UNITY_BUILD ON)
    # What is tested is optimised in full. At -O1 g++ does not follow optionals, and warns of those that are empty.
    target_compile_options(${name}_test PRIVATE ${in_groups} $<$<CONFIG:Release>:-O1 -Wno-maybe-uninitialized>)
    set_property(GLOBAL APPEND PROPERTY INLAY_TEST_PROGRAMS ${name}_test)
  endif()
endfunction()
