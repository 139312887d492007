# Has the program print its manual pages and completion scripts into FOLDER/man and FOLDER/completions. The build does
# this each time the program is linked:
#   cmake -DPROGRAM=build/cpu/warpmer -DFOLDER=build/cpu -P cli/generate_documents.cmake
# PROGRAM may be a list: an emulator, its arguments, and the program.

function(print_to path)
  execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_FILE ${FOLDER}/${path} ERROR_VARIABLE error RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " arguments)
    message(FATAL_ERROR "'warpmer ${arguments}' ended with ${status}: ${error}")
  endif()
endfunction()

# No page stays of a command that has gone.
file(REMOVE_RECURSE ${FOLDER}/man ${FOLDER}/completions)
file(MAKE_DIRECTORY ${FOLDER}/man ${FOLDER}/completions)
print_to(man/warpmer.1 help --man)
# Its entries of commands, such as \fBwarpmer\-count\fR(1), are the names of the other pages.
file(STRINGS ${FOLDER}/man/warpmer.1 entries REGEX "fBwarpmer.+fR.1.$")
list(REMOVE_DUPLICATES entries)
foreach(entry ${entries})
  string(REGEX REPLACE "\\\\f[BR]|\\\\|\\(1\\)" "" page ${entry})
  string(REPLACE "warpmer-" "" command ${page})
  print_to(man/${page}.1 help --man ${command})
endforeach()
print_to(completions/warpmer.bash completion bash)
print_to(completions/_warpmer completion zsh)
print_to(completions/warpmer.fish completion fish)
