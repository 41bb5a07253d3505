import Glibc

/// A child process with an explicit environment and explicit descriptors, and without blocked or ignored signals. It
/// also inherits open descriptors of this process that are not marked `O_CLOEXEC`.
///
/// The caller must wait for its end exactly once.
package struct SpawnedProgram: Sendable {
    /// The reason why a program was not started: the failed step and the error number.
    package struct Failure: Error, Equatable, CustomStringConvertible {
        package let step: String
        package let number: Int32

        package init(step: String, number: Int32) {
            self.step = step
            self.number = number
        }

        package var description: String { "\(step): \(String(cString: strerror(number)))" }
    }

    /// A descriptor of the program.
    package enum Descriptor: Sendable {
        case nothingToRead
        case nowhere
        /// A file that only its user can read; created if missing, and truncated or appended to.
        case file(String, adds: Bool = false)
        /// A descriptor of this process.
        case ours(Int32)
        /// The same as an earlier descriptor of the program.
        case same(Int32)
    }

    /// The end of a program.
    package enum End: Sendable, Equatable, CustomStringConvertible {
        case status(Int32)
        case signal(Int32)

        package var description: String {
            switch self {
            case .status(let status): "status \(status)"
            case .signal(let signal): "signal \(signal)"
            }
        }
    }

    package let pid: pid_t
    /// Whether the program and its children form a process group with the program's pid.
    private let leadsGroup: Bool

    /// Starts the program.
    /// - Parameters:
    ///   - arguments: the program's path and its arguments.
    ///   - environment: entries in the form `NAME=value`.
    ///   - descriptors: its descriptors, from 0. A descriptor of this process must not have the number of an earlier
    ///     one.
    ///   - leadsGroup: whether it gets its own process group, which `kill` ends with it.
    /// - Throws: `Failure`.
    package init(
        _ arguments: [String], environment: [String], descriptors: [Descriptor], leadsGroup: Bool = false
    ) throws(Failure) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (place, descriptor) in descriptors.enumerated() {
            let result = Self.add(descriptor, at: Int32(place), to: &actions)
            guard result == 0 else { throw Failure(step: "descriptor \(place)", number: result) }
        }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Otherwise the child would inherit the signals that this process ignores, or that this thread blocks.
        var none = sigset_t()
        sigemptyset(&none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (leadsGroup ? POSIX_SPAWN_SETPGROUP : 0)
        posix_spawnattr_setflags(&attributes, Int16(flags))

        var pid = pid_t()
        let result = Self.withCStrings(arguments) { argv in
            Self.withCStrings(environment) { posix_spawn(&pid, arguments[0], &actions, &attributes, argv, $0) }
        }
        guard result == 0 else { throw Failure(step: arguments[0], number: result) }
        self.pid = pid
        self.leadsGroup = leadsGroup
    }

    /// Kills the program, or its whole process group if it leads one. Must not be called after `wait`.
    package func kill() { _ = Glibc.kill(leadsGroup ? -pid : pid, SIGKILL) }

    /// Blocks until the program ends.
    /// - Returns: nil if its end was already waited for.
    @discardableResult
    package func wait() -> End? {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 { if errno != EINTR { return nil } }
        return status & 0x7F == 0 ? .status((status >> 8) & 0xFF) : .signal(status & 0x7F)
    }

    private static func add(
        _ descriptor: Descriptor, at place: Int32, to actions: inout posix_spawn_file_actions_t
    ) -> Int32 {
        switch descriptor {
        case .nothingToRead: posix_spawn_file_actions_addopen(&actions, place, "/dev/null", O_RDONLY, 0)
        case .nowhere: posix_spawn_file_actions_addopen(&actions, place, "/dev/null", O_WRONLY, 0)
        case .file(let path, let adds):
            posix_spawn_file_actions_addopen(
                &actions, place, path, O_WRONLY | O_CREAT | (adds ? O_APPEND : O_TRUNC), 0o600)
        case .ours(let number), .same(let number): posix_spawn_file_actions_adddup2(&actions, number, place)
        }
    }

    private static func withCStrings<Result>(
        _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = texts.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }
}
