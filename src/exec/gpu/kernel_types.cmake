# The element types that have kernels: short name, codec of sums and products, codec of minimum and maximum
# (device/kernels.cu).
set(TUTTI_KERNEL_TYPES
    "i8 I8 I8" "u8 U8 U8" "i32 I32 I32" "u32 U32 U32" "i64 I64 I64" "u64 U64 U64" "f16 HalfCodec OrderedF16"
    "f32 FloatCodec OrderedF32" "f64 DoubleCodec OrderedF64" "bf16 Bfloat16Codec OrderedBF16"
    "e4m3 E4M3 OrderedE4M3" "e5m2 E5M2 OrderedE5M2")
