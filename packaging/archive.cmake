# Makes libtutti.a: one object, with the libraries that it needs inside, which shows what libtutti.so shows. So nothing in it can be
# mistaken for something of the program's, such as another version of fmt.
#
#   cmake -DINSIDE=libtutti_inside.a -DLIBRARIES=libsodium.a;libpugixml.a -DARCHIVE=libtutti.a
#         -DLINKER=ld -DOBJCOPY=objcopy -DNM=nm -DAR=ar -P archive.cmake
set(object ${ARCHIVE}.o)
execute_process(COMMAND ${LINKER} -r --force-group-allocation --wrap=fmod -o ${object} --whole-archive ${INSIDE} --no-whole-archive
                        ${LIBRARIES} COMMAND_ERROR_IS_FATAL ANY)
# objcopy hides no symbols that are unique in a process (STB_GNU_UNIQUE), but can make them weak, and hides those.
execute_process(COMMAND ${NM} --defined-only --extern-only ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " u [^\n]*\n" unique "${symbols}")
string(REPLACE " u " "" unique "${unique}")
string(REPLACE ";" "" unique "${unique}")
file(WRITE ${object}.unique "${unique}")
execute_process(COMMAND ${OBJCOPY} --weaken-symbols=${object}.unique ${object} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OBJCOPY} --localize-hidden --wildcard --keep-global-symbol=_ZN5tutti* --keep-global-symbol=_ZNK5tutti*
                        --strip-debug --remove-section=.comment ${object} COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE ${ARCHIVE})
execute_process(COMMAND ${AR} qcsD ${ARCHIVE} ${object} COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE ${object} ${object}.unique)
