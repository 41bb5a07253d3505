import Glibc

/// A program that was started as a child of this process: with the environment and the descriptors that it is given,
/// no signal blocked or ignored. A descriptor of ours stays with it unless it closes at `exec` (`O_CLOEXEC`).
///
/// Whoever starts it waits for its end, exactly once.
package struct SpawnedProgram: Sendable {
    /// The reason why a program was not started: the step that failed, and the error's number.
    package struct Failure: Error, Equatable, CustomStringConvertible {
        package let step: String
        package let number: Int32

        package init(step: String, number: Int32) {
            self.step = step
            self.number = number
        }

        package var description: String { "\(step): \(String(cString: strerror(number)))" }
    }

    /// One of the program's descriptors.
    package enum Descriptor: Sendable {
        case nothingToRead
        case nowhere
        /// A file that its user alone may read, made where it is missing, emptied first or added to.
        case file(String, adds: Bool = false)
        /// A descriptor of ours.
        case ours(Int32)
        /// The same as the program's descriptor of this number, which is an earlier one.
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
    /// Whether it and what it starts are a process group, with its pid as number.
    private let leadsGroup: Bool

    /// Starts it.
    /// - Parameters:
    ///   - arguments: the program's path and what follows it.
    ///   - environment: each `NAME=value`.
    ///   - descriptors: its descriptors from 0 on. One of ours must not have the number of an earlier one.
    ///   - leadsGroup: whether it gets a process group of its own, which ends with it.
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
        // Signals that this process ignores, or the thread blocks as those of a queue do, would stay so in the child.
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

    /// Kills it, with its group where it leads one. Not after `wait`.
    package func kill() { _ = Glibc.kill(leadsGroup ? -pid : pid, SIGKILL) }

    /// Blocks until it ends.
    /// - Returns: nil when its end was waited for before.
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
