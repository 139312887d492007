from spack.package import *


class Warpmer(CMakePackage, CudaPackage):
    """Exact k-mer counts of sequencing data, and questions about them, on CPUs and NVIDIA GPUs."""

    homepage = "@URL@"
    url = "@URL@/warpmer-@VERSION@.tar.gz"

    license("MIT")

    version("@VERSION@", sha256="@SHA256@")

    variant("mpi", default=False, description="Run on many machines under MPI")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11@2.1:", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("bzip2")
    depends_on("fmt@8:")
    depends_on("htslib@1.13:")
    depends_on("isa-l")
    depends_on("xxhash@0.8:")
    depends_on("xz")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("mpi", when="+mpi")
    # __uint128_t and C++20 in device code.
    depends_on("cuda@12:", when="+cuda")

    conflicts("%gcc@:10")
    conflicts("%clang@:13")
    conflicts("cuda_arch=none", when="+cuda", msg="say which GPUs to build for: cuda_arch=80,90")

    def cmake_args(self):
        arguments = [
            self.define_from_variant("WARPMER_CUDA", "cuda"),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_MPI", self.spec.satisfies("~mpi")),
        ]
        if self.spec.satisfies("+cuda"):
            arguments.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return arguments
