# Compiler settings every target shares, and the libraries the project is built from.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ${PROJECT_IS_TOP_LEVEL})
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

set(can_cache FALSE)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CCACHE ccache)
  mark_as_advanced(CCACHE)
  if(CCACHE)  # where packages are built there may be no folder that it can write, and then it compiles nothing
    execute_process(COMMAND ${CCACHE} ${CMAKE_CXX_COMPILER} -x c++ -c /dev/null -o /dev/null
      RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE error)
    if(status EQUAL 0)
      set(can_cache TRUE)
    else()
      message(STATUS "No ccache, which does not work here: ${error}")
    endif()
  endif()
endif()
if(can_cache)
  # It has to be told that precompiled headers do not depend on what is defined or what the time is; and that one build
  # folder is like another, so that what was compiled for one (the program) serves in another (the Python module).
  set(ccache_settings CCACHE_SLOPPINESS=pch_defines,time_macros)
  if(NOT DEFINED ENV{CCACHE_BASEDIR})
    list(APPEND ccache_settings CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1)
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env ${ccache_settings} ${CCACHE})
endif()

# Most of the compile time of a short file is in what it includes: of the sources of a library several are compiled
# as one. Whatever else a file's own flags ask for stays alone.
set(CMAKE_UNITY_BUILD ${WARPMER_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HTSLIB REQUIRED IMPORTED_TARGET htslib)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
# Most builds of it for x86 also have variants for AVX2 and AVX-512, two to three times as fast.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::XXHASH)
check_cxx_source_compiles([[
  #include <xxh_x86dispatch.h>
  int main() {
    XXH3_state_t* const state = XXH3_createState();
    return XXH3_64bits_reset(state) + XXH3_64bits_update(state, "", 0) + (XXH3_64bits("", 0) != 0);
  }]] WARPMER_XXHASH_HAS_DISPATCH)
unset(CMAKE_REQUIRED_LIBRARIES)
pkg_check_modules(ISAL IMPORTED_TARGET libisal)
# What is compressed with one of these is refused by its name where it is missing.
pkg_check_modules(ZSTD IMPORTED_TARGET libzstd)
pkg_check_modules(XZ IMPORTED_TARGET liblzma)
find_package(BZip2)
if(PROJECT_IS_TOP_LEVEL)  # the library wants none of these
  find_package(CLI11 REQUIRED)
  if(WARPMER_TESTS)
    find_package(doctest REQUIRED)
  endif()
endif()

# What every warpmer target is compiled with: x86-64-v2 is the floor; files for AVX2 and AVX-512
# get their flags one by one (src/cpu/CMakeLists.txt) and are chosen at run time.
add_library(warpmer_flags INTERFACE)
target_compile_options(warpmer_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wconversion;-Wno-sign-conversion>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(warpmer_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=x86-64-v2>)
endif()
if(WARPMER_UNITY)
  # Of what is in a source's unnamed namespace, GCC would say that it is in a header's.
  target_compile_options(warpmer_flags INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
endif()
if(WARPMER_WERROR)
  target_compile_options(warpmer_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(WARPMER_SANITIZE)
  target_compile_options(warpmer_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${WARPMER_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer;-g1>)
  target_link_options(warpmer_flags INTERFACE -fsanitize=${WARPMER_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # These two take a quarter of the time that UBSan's build takes. At a null pointer ASan stops, too; and alignment is
    # looked at by clang's UBSan. GCC takes what is instrumented for uninitialized now and then.
    target_compile_options(warpmer_flags INTERFACE
      $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,alignment;-Wno-maybe-uninitialized>)
  endif()
endif()

# Targets that are added in this folder from here on can go into the shared library or the Python extension, if there is to be one. Symbols are
# hidden, so that calls among them need no table: the program counts in as many instructions as without (callgrind,
# k = 31: 1.864 G in both).
macro(warpmer_compile_for_library)
  if(WARPMER_LIBRARY OR WARPMER_PYTHON)
    set(CMAKE_POSITION_INDEPENDENT_CODE ON)
    set(CMAKE_CXX_VISIBILITY_PRESET hidden)
    set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
    set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
  endif()
endmacro()

# Adds CUDA sources to a target, `batch` of them compiled as one. CMake's UNITY_BUILD is for CUDA from 3.31 on only, and
# would put together what has the same names inside.
function(warpmer_add_cuda_sources target batch)
  if(NOT WARPMER_UNITY)
    target_sources(${target} PRIVATE ${ARGN})
    return()
  endif()
  set(sources ${ARGN})
  list(LENGTH sources size)
  math(EXPR last "${size} - 1")
  foreach(begin RANGE 0 ${last} ${batch})
    list(SUBLIST sources ${begin} ${batch} part)
    set(text)
    foreach(source ${part})
      get_filename_component(path ${source} ABSOLUTE)
      string(APPEND text "#include \"${path}\"\n")
    endforeach()
    list(GET part 0 first)
    get_filename_component(name ${first} NAME_WE)
    set(piece ${CMAKE_CURRENT_BINARY_DIR}/pieces/${target}_${name}.cu)
    file(CONFIGURE OUTPUT ${piece} CONTENT "${text}" @ONLY)
    set_source_files_properties(${piece} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_sources(${target} PRIVATE ${piece})
  endforeach()
endfunction()
