import Foundation
import Glibc

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
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output ?? "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)

        // The threads of a queue block signals, and a child inherits that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var pid = pid_t()
        let result = Self.withCStrings(limits + arguments) { argv in
            Self.withCStrings(Self.environment) { posix_spawn(&pid, limits[0], &actions, &attributes, argv, $0) }
        }
        guard result == 0 else { return nil }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 { if errno != EINTR { return nil } }
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : nil
    }

    private static func withCStrings<Result>(
        _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = texts.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }
}
