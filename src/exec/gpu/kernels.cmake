# Compiles exec/gpu/device/kernels.cu once per element type, and once for what only moves data, and across.cu to images that
# images.cc includes. Included by src/exec/CMakeLists.txt, where TUTTI_CUDA is on.
set(KERNEL_FOLDER ${CMAKE_CURRENT_BINARY_DIR}/kernels)
file(MAKE_DIRECTORY ${KERNEL_FOLDER})
set(KERNEL_FLAGS -std=c++20 -O3 -fmad=false --expt-relaxed-constexpr -fatbin -I${PROJECT_SOURCE_DIR}/src
                 -I${PROJECT_SOURCE_DIR}/include)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
  list(APPEND KERNEL_FLAGS --compress-mode=size)  # a tenth of the size
endif()
foreach(architecture ${CMAKE_CUDA_ARCHITECTURES})
  list(APPEND KERNEL_FLAGS -gencode arch=compute_${architecture},code=sm_${architecture})
endforeach()
file(GLOB KERNEL_HEADERS CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/gpu/device/*.cuh)
foreach(header across program relay transfer)
  list(APPEND KERNEL_HEADERS ${CMAKE_CURRENT_SOURCE_DIR}/gpu/format/${header}.h)
endforeach()
list(APPEND KERNEL_HEADERS ${CMAKE_CURRENT_SOURCE_DIR}/gpu/device/words.h ${PROJECT_SOURCE_DIR}/src/transport/p2p/segment.h)

function(tutti_kernels name source)
  add_custom_command(
    OUTPUT ${KERNEL_FOLDER}/${name}.fatbin
    COMMAND ${CMAKE_CUDA_COMPILER} ${KERNEL_FLAGS} ${ARGN} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
            -o ${KERNEL_FOLDER}/${name}.fatbin
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${KERNEL_HEADERS}
    COMMENT "Compiling the kernels of ${name}"
    VERBATIM)
  set_property(SOURCE gpu/launch/images.cc APPEND PROPERTY OBJECT_DEPENDS ${KERNEL_FOLDER}/${name}.fatbin)
endfunction()

tutti_kernels(across gpu/device/across.cu)
tutti_kernels(move gpu/device/kernels.cu -DTUTTI_MOVE)
include(${CMAKE_CURRENT_LIST_DIR}/kernel_types.cmake)
foreach(type ${TUTTI_KERNEL_TYPES})
  separate_arguments(words UNIX_COMMAND "${type}")
  list(GET words 0 name)
  list(GET words 1 codec)
  list(GET words 2 ordered)
  tutti_kernels(${name} gpu/device/kernels.cu -DTUTTI_TYPE=${name} -DTUTTI_CODEC=${codec} -DTUTTI_ORDERED=${ordered})
endforeach()
set_property(SOURCE gpu/launch/images.cc APPEND PROPERTY COMPILE_DEFINITIONS TUTTI_KERNELS="${KERNEL_FOLDER}")
