import ProcessKit

/// A program that works on what a stranger sent: in a process of its own with little memory, little time, no input and
/// no shell, so that the worst it can do is to end.
struct LimitedCommand {
    let arguments: [String]
    /// Wall clock.
    let secondsMax: Int
    /// File for its standard output; nil for nowhere.
    var output: String?

    /// Address space. An image of `PhotoStudio.pixelsMax` with 16 bits a channel takes 400 MB.
    private static let memoryBytesMax = 1 << 30
    /// Bytes that it may write into one file.
    private static let fileBytesMax = 32 << 20

    private static let environment = [
        "PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=/nonexistent", "MALLOC_ARENA_MAX=2",
        // Loaders that libvips itself does not trust with what comes from outside; one core for one image.
        "VIPS_BLOCK_UNTRUSTED=1", "VIPS_CONCURRENCY=1",
    ]

    /// Runs it to its end and blocks meanwhile.
    /// - Returns: its exit status; nil when it could not be started or was ended by a signal.
    func run() -> Int32? {
        let limits = [
            "/usr/bin/timeout", "--signal=KILL", "\(secondsMax)", "/usr/bin/prlimit", "--as=\(Self.memoryBytesMax)",
            "--cpu=\(secondsMax)", "--fsize=\(Self.fileBytesMax)", "--nofile=64", "--core=0", "--",
        ]
        let program = try? SpawnedProgram(
            limits + arguments, environment: Self.environment,
            descriptors: [.nothingToRead, output.map { .file($0) } ?? .nowhere, .nowhere])
        guard case .status(let status)? = program?.wait() else { return nil }
        return status
    }
}
