// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_MPI_NAMES_H_
#define TUTTI_MPI_NAMES_H_

// The names that a program with MPItrampoline 5 inside resolves in the library that MPITRAMPOLINE_LIB names, as MPI 3.1 has them:
// functions as MPIABI_<name>, constants likewise. MPItrampoline ends its program where one is missing. Each list takes a macro of one
// argument. What has a value of its own (MPI_ANY_SOURCE, MPI_IN_PLACE) stands in constants.cc, what is a function here in calls.cc.

// clang-format off

// Functions that return an error code, and that are not here.
#define TUTTI_MPI_ABSENT(F)                                                                                          \
  F(Accumulate) F(Add_error_class) F(Add_error_code) F(Add_error_string) F(Allgatherv) F(Alloc_mem) F(Alltoall)      \
  F(Alltoallv) F(Alltoallw) F(Barrier) F(Bcast) F(Bsend) F(Bsend_init) F(Buffer_attach) F(Buffer_detach) F(Cancel)   \
  F(Cart_coords) F(Cart_create) F(Cart_get) F(Cart_map) F(Cart_rank) F(Cart_shift) F(Cart_sub) F(Cartdim_get)        \
  F(Close_port) F(Comm_accept) F(Comm_call_errhandler) F(Comm_compare) F(Comm_connect) F(Comm_create)                \
  F(Comm_create_errhandler) F(Comm_create_group) F(Comm_create_keyval) F(Comm_delete_attr) F(Comm_disconnect)        \
  F(Comm_dup) F(Comm_dup_with_info) F(Comm_free_keyval) F(Comm_get_attr) F(Comm_get_errhandler) F(Comm_get_info)     \
  F(Comm_get_name) F(Comm_get_parent) F(Comm_group) F(Comm_idup) F(Comm_join) F(Comm_remote_group)                   \
  F(Comm_remote_size) F(Comm_set_attr) F(Comm_set_errhandler) F(Comm_set_info) F(Comm_set_name) F(Comm_spawn)        \
  F(Comm_spawn_multiple) F(Comm_split_type) F(Comm_test_inter) F(Compare_and_swap) F(Dims_create)                    \
  F(Dist_graph_create) F(Dist_graph_create_adjacent) F(Dist_graph_neighbors) F(Dist_graph_neighbors_count)           \
  F(Errhandler_free) F(Error_class) F(Exscan) F(Fetch_and_op) F(File_call_errhandler) F(File_close)                  \
  F(File_create_errhandler) F(File_delete) F(File_get_amode) F(File_get_atomicity) F(File_get_byte_offset)           \
  F(File_get_errhandler) F(File_get_group) F(File_get_info) F(File_get_position) F(File_get_position_shared)         \
  F(File_get_size) F(File_get_type_extent) F(File_get_view) F(File_iread) F(File_iread_all) F(File_iread_at)         \
  F(File_iread_at_all) F(File_iread_shared) F(File_iwrite) F(File_iwrite_all) F(File_iwrite_at)                      \
  F(File_iwrite_at_all) F(File_iwrite_shared) F(File_open) F(File_preallocate) F(File_read) F(File_read_all)         \
  F(File_read_all_begin) F(File_read_all_end) F(File_read_at) F(File_read_at_all) F(File_read_at_all_begin)          \
  F(File_read_at_all_end) F(File_read_ordered) F(File_read_ordered_begin) F(File_read_ordered_end)                   \
  F(File_read_shared) F(File_seek) F(File_seek_shared) F(File_set_atomicity) F(File_set_errhandler)                  \
  F(File_set_info) F(File_set_size) F(File_set_view) F(File_sync) F(File_write) F(File_write_all)                    \
  F(File_write_all_begin) F(File_write_all_end) F(File_write_at) F(File_write_at_all) F(File_write_at_all_begin)     \
  F(File_write_at_all_end) F(File_write_ordered) F(File_write_ordered_begin) F(File_write_ordered_end)               \
  F(File_write_shared) F(Free_mem) F(Gather) F(Gatherv) F(Get) F(Get_accumulate) F(Get_address) F(Get_count)         \
  F(Get_elements) F(Get_elements_x) F(Get_processor_name) F(Graph_create) F(Graph_get) F(Graph_map)                  \
  F(Graph_neighbors) F(Graph_neighbors_count) F(Graphdims_get) F(Grequest_complete) F(Grequest_start)                \
  F(Group_compare) F(Group_difference) F(Group_excl) F(Group_free) F(Group_incl) F(Group_intersection)               \
  F(Group_range_excl) F(Group_range_incl) F(Group_rank) F(Group_size) F(Group_translate_ranks) F(Group_union)        \
  F(Iallgather) F(Iallgatherv) F(Iallreduce) F(Ialltoall) F(Ialltoallv) F(Ialltoallw) F(Ibarrier) F(Ibcast)          \
  F(Ibsend) F(Iexscan) F(Igather) F(Igatherv) F(Improbe) F(Imrecv) F(Ineighbor_allgather) F(Ineighbor_allgatherv)    \
  F(Ineighbor_alltoall) F(Ineighbor_alltoallv) F(Ineighbor_alltoallw) F(Info_create) F(Info_delete) F(Info_dup)      \
  F(Info_free) F(Info_get) F(Info_get_nkeys) F(Info_get_nthkey) F(Info_get_valuelen) F(Info_set)                     \
  F(Intercomm_create) F(Intercomm_merge) F(Iprobe) F(Ireduce) F(Ireduce_scatter) F(Ireduce_scatter_block)            \
  F(Irsend) F(Iscan) F(Iscatter) F(Iscatterv) F(Issend) F(Lookup_name) F(Mprobe) F(Mrecv) F(Neighbor_allgather)      \
  F(Neighbor_allgatherv) F(Neighbor_alltoall) F(Neighbor_alltoallv) F(Neighbor_alltoallw) F(Op_commutative)          \
  F(Op_create) F(Op_free) F(Open_port) F(Pack) F(Pack_external) F(Pack_external_size) F(Pack_size) F(Probe)          \
  F(Publish_name) F(Put) F(Raccumulate) F(Recv) F(Recv_init) F(Reduce) F(Reduce_local) F(Reduce_scatter_block)       \
  F(Register_datarep) F(Request_free) F(Request_get_status) F(Rget) F(Rget_accumulate) F(Rput) F(Rsend)              \
  F(Rsend_init) F(Scan) F(Scatter) F(Scatterv) F(Send) F(Send_init) F(Sendrecv_replace) F(Ssend) F(Ssend_init)       \
  F(Start) F(Startall) F(Status_c2f) F(Status_f2c) F(Status_set_cancelled) F(Status_set_elements)                    \
  F(Status_set_elements_x) F(Test) F(Test_cancelled) F(Testall) F(Testany) F(Testsome) F(Topo_test) F(Type_commit)   \
  F(Type_contiguous) F(Type_create_darray) F(Type_create_f90_complex) F(Type_create_f90_integer)                     \
  F(Type_create_f90_real) F(Type_create_hindexed) F(Type_create_hindexed_block) F(Type_create_hvector)               \
  F(Type_create_indexed_block) F(Type_create_keyval) F(Type_create_resized) F(Type_create_struct)                    \
  F(Type_create_subarray) F(Type_delete_attr) F(Type_dup) F(Type_free) F(Type_free_keyval) F(Type_get_attr)          \
  F(Type_get_contents) F(Type_get_envelope) F(Type_get_extent) F(Type_get_extent_x) F(Type_get_name)                 \
  F(Type_get_true_extent) F(Type_get_true_extent_x) F(Type_indexed) F(Type_match_size) F(Type_set_attr)              \
  F(Type_set_name) F(Type_size) F(Type_size_x) F(Type_struct) F(Type_vector) F(Unpack) F(Unpack_external)            \
  F(Unpublish_name) F(Waitall) F(Waitany) F(Waitsome) F(Win_allocate) F(Win_allocate_shared) F(Win_attach)           \
  F(Win_call_errhandler) F(Win_complete) F(Win_create) F(Win_create_dynamic) F(Win_create_errhandler)                \
  F(Win_create_keyval) F(Win_delete_attr) F(Win_detach) F(Win_fence) F(Win_flush) F(Win_flush_all)                   \
  F(Win_flush_local) F(Win_flush_local_all) F(Win_free) F(Win_free_keyval) F(Win_get_attr) F(Win_get_errhandler)     \
  F(Win_get_group) F(Win_get_info) F(Win_get_name) F(Win_lock) F(Win_lock_all) F(Win_post) F(Win_set_attr)           \
  F(Win_set_errhandler) F(Win_set_info) F(Win_set_name) F(Win_shared_query) F(Win_start) F(Win_sync) F(Win_test)     \
  F(Win_unlock) F(Win_unlock_all) F(Win_wait)

// The same of those that return something else: a handle, a number, an address.
#define TUTTI_MPI_ABSENT_WITHOUT_CODE(F)                                                                             \
  F(Aint_add) F(Aint_diff) F(Comm_c2f) F(Comm_f2c) F(Errhandler_c2f) F(Errhandler_f2c) F(File_c2f) F(File_f2c)       \
  F(Group_c2f) F(Group_f2c) F(Info_c2f) F(Info_f2c) F(Message_c2f) F(Message_f2c) F(Op_c2f) F(Op_f2c)                \
  F(Request_c2f) F(Request_f2c) F(Type_c2f) F(Type_f2c) F(Win_c2f) F(Win_f2c)

// Functions MPIXABI_<name>, which tell whether the library takes the memory of a kind of GPU.
#define TUTTI_MPI_EXTENSIONS(F)                                                                                      \
  F(Query_cuda_support) F(Query_hip_support) F(Query_rocm_support) F(Query_ze_support)

// Constants. Classes of errors, MPI_ERR_<name>.
#define TUTTI_MPI_ERRORS(F)                                                                                          \
  F(ACCESS) F(AMODE) F(ARG) F(ASSERT) F(BAD_FILE) F(BASE) F(BUFFER) F(COMM) F(CONVERSION) F(COUNT) F(DIMS) F(DISP)   \
  F(DUP_DATAREP) F(FILE) F(FILE_EXISTS) F(FILE_IN_USE) F(GROUP) F(INFO) F(INFO_KEY) F(INFO_NOKEY) F(INFO_VALUE)      \
  F(INTERN) F(IN_STATUS) F(IO) F(KEYVAL) F(LOCKTYPE) F(NAME) F(NOT_SAME) F(NO_MEM) F(NO_SPACE) F(NO_SUCH_FILE)       \
  F(OP) F(OTHER) F(PENDING) F(PORT) F(QUOTA) F(RANK) F(READ_ONLY) F(REQUEST) F(RMA_ATTACH) F(RMA_CONFLICT)           \
  F(RMA_FLAVOR) F(RMA_RANGE) F(RMA_SHARED) F(RMA_SYNC) F(ROOT) F(SERVICE) F(SIZE) F(SPAWN) F(TAG) F(TOPOLOGY)        \
  F(TRUNCATE) F(TYPE) F(UNKNOWN) F(UNSUPPORTED_DATAREP) F(UNSUPPORTED_OPERATION) F(WIN)

// Bits, MPI_MODE_<name>.
#define TUTTI_MPI_MODES(F)                                                                                           \
  F(APPEND) F(CREATE) F(DELETE_ON_CLOSE) F(EXCL) F(NOCHECK) F(NOPRECEDE) F(NOPUT) F(NOSTORE) F(NOSUCCEED)            \
  F(RDONLY) F(RDWR) F(SEQUENTIAL) F(UNIQUE_OPEN) F(WRONLY)

// Numbers of which only matters that they differ.
#define TUTTI_MPI_NUMBERS(F)                                                                                         \
  F(APPNUM) F(CART) F(COMBINER_CONTIGUOUS) F(COMBINER_DARRAY) F(COMBINER_DUP) F(COMBINER_F90_COMPLEX)                \
  F(COMBINER_F90_INTEGER) F(COMBINER_F90_REAL) F(COMBINER_HINDEXED) F(COMBINER_HINDEXED_BLOCK) F(COMBINER_HVECTOR)   \
  F(COMBINER_INDEXED) F(COMBINER_INDEXED_BLOCK) F(COMBINER_NAMED) F(COMBINER_RESIZED) F(COMBINER_STRUCT)             \
  F(COMBINER_SUBARRAY) F(COMBINER_VECTOR) F(COMM_TYPE_SHARED) F(DISTRIBUTE_BLOCK) F(DISTRIBUTE_CYCLIC)               \
  F(DISTRIBUTE_DFLT_DARG) F(DISTRIBUTE_NONE) F(DIST_GRAPH) F(GRAPH) F(HOST) F(IO) F(LASTUSEDCODE)                    \
  F(LOCK_EXCLUSIVE) F(LOCK_SHARED) F(ORDER_C) F(ORDER_FORTRAN) F(SEEK_CUR) F(SEEK_END) F(SEEK_SET) F(TAG_UB)         \
  F(TYPECLASS_COMPLEX) F(TYPECLASS_INTEGER) F(TYPECLASS_REAL) F(UNIVERSE_SIZE) F(WIN_BASE) F(WIN_CREATE_FLAVOR)      \
  F(WIN_DISP_UNIT) F(WIN_FLAVOR_ALLOCATE) F(WIN_FLAVOR_CREATE) F(WIN_FLAVOR_DYNAMIC) F(WIN_FLAVOR_SHARED)            \
  F(WIN_MODEL) F(WIN_SEPARATE) F(WIN_SIZE) F(WIN_UNIFIED) F(WTIME_IS_GLOBAL)

// Handles of types and of operators.
#define TUTTI_MPI_DATATYPES(F)                                                                                       \
  F(2DOUBLE_PRECISION) F(2INT) F(2INTEGER) F(2REAL) F(AINT) F(BYTE) F(CHAR) F(CHARACTER) F(COMPLEX) F(COMPLEX16)     \
  F(COMPLEX32) F(COMPLEX8) F(COUNT) F(CXX_BOOL) F(CXX_DOUBLE_COMPLEX) F(CXX_FLOAT_COMPLEX)                           \
  F(CXX_LONG_DOUBLE_COMPLEX) F(C_BOOL) F(C_COMPLEX) F(C_DOUBLE_COMPLEX) F(C_FLOAT_COMPLEX)                           \
  F(C_LONG_DOUBLE_COMPLEX) F(DOUBLE) F(DOUBLE_COMPLEX) F(DOUBLE_INT) F(DOUBLE_PRECISION) F(FLOAT) F(FLOAT_INT)       \
  F(INT) F(INT16_T) F(INT32_T) F(INT64_T) F(INT8_T) F(INTEGER) F(INTEGER1) F(INTEGER2) F(INTEGER4) F(INTEGER8)       \
  F(LOGICAL) F(LONG) F(LONG_DOUBLE) F(LONG_DOUBLE_INT) F(LONG_INT) F(LONG_LONG) F(LONG_LONG_INT) F(OFFSET)           \
  F(PACKED) F(REAL) F(REAL16) F(REAL4) F(REAL8) F(SHORT) F(SHORT_INT) F(SIGNED_CHAR) F(UINT16_T) F(UINT32_T)         \
  F(UINT64_T) F(UINT8_T) F(UNSIGNED) F(UNSIGNED_CHAR) F(UNSIGNED_LONG) F(UNSIGNED_LONG_LONG) F(UNSIGNED_SHORT)       \
  F(WCHAR)

#define TUTTI_MPI_OPS(F)                                                                                             \
  F(BAND) F(BOR) F(BXOR) F(LAND) F(LOR) F(LXOR) F(MAX) F(MAXLOC) F(MIN) F(MINLOC) F(NO_OP) F(PROD) F(REPLACE)        \
  F(SUM)

// Pointers to nothing: functions and places that nobody calls or writes.
#define TUTTI_MPI_POINTERS(F)                                                                                        \
  F(ARGVS_NULL) F(ARGV_NULL) F(COMM_DUP_FN) F(COMM_NULL_COPY_FN) F(COMM_NULL_DELETE_FN) F(CONVERSION_FN_NULL)        \
  F(DUP_FN) F(ERRCODES_IGNORE) F(F_STATUSES_IGNORE) F(F_STATUS_IGNORE) F(NULL_COPY_FN) F(NULL_DELETE_FN)             \
  F(TYPE_DUP_FN) F(TYPE_NULL_COPY_FN) F(TYPE_NULL_DELETE_FN) F(UNWEIGHTED) F(WEIGHTS_EMPTY) F(WIN_DUP_FN)            \
  F(WIN_NULL_COPY_FN) F(WIN_NULL_DELETE_FN)

// All other handles.
#define TUTTI_MPI_HANDLES(F)                                                                                         \
  F(COMM_NULL) F(COMM_SELF) F(COMM_WORLD) F(DATATYPE_NULL) F(ERRHANDLER_NULL) F(ERRORS_ARE_FATAL) F(ERRORS_RETURN)   \
  F(FILE_NULL) F(GROUP_EMPTY) F(GROUP_NULL) F(INFO_ENV) F(INFO_NULL) F(MESSAGE_NO_PROC) F(MESSAGE_NULL) F(OP_NULL)   \
  F(REQUEST_NULL) F(WIN_NULL)

// clang-format on

#endif  // TUTTI_MPI_NAMES_H_
