import Foundation

/// A process started with three descriptors and no other of ours. Foundation's `Process` hands its child a socket and
/// takes the end of that socket for the end of the child, which a daemon that the child leaves behind keeps open.
struct ChildProcess: Sendable {
    let pid: pid_t

    /// - Parameters:
    ///   - environment: replaces every `SATCHEL_*` variable of ours; the other variables are passed on.
    ///   - input: descriptor for its standard input; nil for /dev/null.
    ///   - output: file for both its outputs.
    init(_ arguments: [String], environment: [String: String], input: Int32? = nil, output: String = "/dev/null") throws
    {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)

        let variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("SATCHEL_") }
            .merging(environment) { _, new in new }.map { "\($0.key)=\($0.value)" }
        var pid = pid_t()
        let result = ChildProcess.withCStrings(["bash", "-c", Self.withoutOurDescriptors, "bash"] + arguments) { argv in
            ChildProcess.withCStrings(variables) { envp in posix_spawn(&pid, "/bin/bash", &actions, nil, argv, envp) }
        }
        guard result == 0 else {
            throw Command.Failed(description: "\(arguments[0]) does not start (error \(result)).")
        }
        self.pid = pid
    }

    /// Blocks until the process ends and returns its status, or the negative number of the signal that ended it.
    @discardableResult
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
    }

    /// Waits without blocking a thread of the cooperative pool.
    func ended() async -> Int32 {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: wait()) }
        }
    }

    /// The C library's closefrom action is not in Swift's view of it.
    private static let withoutOurDescriptors = """
        for file in /proc/$$/fd/*; do (( ${file##*/} < 3 )) || eval "exec ${file##*/}>&-"; done
        exec "$@"
        """

    private static func withCStrings<Result>(
        _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = texts.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }
}
