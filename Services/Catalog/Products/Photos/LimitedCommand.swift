import ProcessKit

/// Runs a program on untrusted input in a separate process with limited memory and time, without standard input and
/// without a shell. At worst the program fails.
struct LimitedCommand {
    let arguments: [String]
    /// Processor time, and wall-clock time unless it yields.
    let secondsMax: Int
    /// File for its standard output; nil discards it.
    var output: String?
    /// Whether other processes go first when all processors are busy. Then it may take three times as long.
    var yields = false

    /// Maximum address space. An image of `PhotoStudio.pixelsMax` with 16 bits per channel takes 400 MB.
    private static let memoryBytesMax = 1 << 30
    /// Maximum size of a file that it writes.
    private static let fileBytesMax = 32 << 20

    private static let environment = [
        "PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=/nonexistent", "MALLOC_ARENA_MAX=2",
        // Disables the loaders that libvips marks as unsafe for untrusted input. One core per image.
        "VIPS_BLOCK_UNTRUSTED=1", "VIPS_CONCURRENCY=1",
    ]

    /// Runs the program and blocks until it ends.
    /// - Returns: its exit status; nil when it could not start or a signal ended it.
    func run() -> Int32? {
        let priority = yields ? ["/usr/bin/nice", "-n", "10"] : []
        let limits = [
            "/usr/bin/timeout", "--signal=KILL", "\(yields ? 3 * secondsMax : secondsMax)",
            "/usr/bin/prlimit", "--as=\(Self.memoryBytesMax)",
            "--cpu=\(secondsMax)", "--fsize=\(Self.fileBytesMax)", "--nofile=64", "--core=0", "--",
        ]
        let program = try? SpawnedProgram(
            priority + limits + arguments, environment: Self.environment,
            descriptors: [.nothingToRead, output.map { .file($0) } ?? .nowhere, .nowhere])
        guard case .status(let status)? = program?.wait() else { return nil }
        return status
    }
}
