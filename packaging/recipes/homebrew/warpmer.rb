class Warpmer < Formula
  desc "Exact k-mer counts of sequencing data, and questions about them"
  homepage "@URL@"
  url "@URL@/warpmer-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "nlohmann-json" => :build
  depends_on "pkgconf" => :build
  depends_on "fmt"
  depends_on "htslib"
  depends_on "isa-l"
  depends_on :linux
  depends_on "xxhash"
  depends_on "xz"
  depends_on "zstd"

  uses_from_macos "bzip2"
  uses_from_macos "zlib"

  def install
    system "cmake", "-S", ".", "-B", "build", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    (testpath/"reads.fa").write ">r\nACGTACGTACGT\n"
    system bin/"warpmer", "count", "-k", "5", "-o", "reads.wmi", "reads.fa"
    assert_equal "ACGTA\t4\n", shell_output("#{bin}/warpmer query reads.wmi ACGTA")
  end
end
