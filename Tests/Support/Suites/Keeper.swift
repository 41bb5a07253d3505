import Foundation
import Synchronization

/// Cleans up on request, and when this process ends in any way. A shell waits for the end of its input, which the
/// kernel closes with this process.
final class Keeper: Sendable {
    private let shell: ChildProcess
    /// The pipe's writing end; nil once it is closed.
    private let input: Mutex<Int32?>

    private static let all = Mutex<[Keeper]>([])
    /// `exit` waits for the suites to stop, so that a test run leaves no process behind.
    private static let stopAtExit: Void = { _ = atexit { Keeper.stopAll() } }()

    /// - Parameters:
    ///   - program: bash code. It reads a line from its input; the input ends when it must clean up.
    ///   - arguments: the program's arguments, `$1` and up.
    init(
        program: String, arguments: [String], environment: [String: String], output: String = "/dev/null"
    ) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0, fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0 else {
            throw Command.Failed(description: "No pipe (error \(errno)).")
        }
        defer { Glibc.close(ends[0]) }
        shell = try ChildProcess(
            ["/bin/bash", "-c", "trap '' INT TERM HUP\n\(program)", "satchel-keeper"] + arguments,
            environment: environment, input: ends[0], output: output)
        input = Mutex(ends[1])
        _ = Self.stopAtExit
        Self.all.withLock { $0.append(self) }
    }

    /// Cleans up and waits until that is complete. A second call does nothing.
    func finish() async {
        if close() { _ = await shell.ended() }
    }

    /// True if this call closed the pipe.
    private func close() -> Bool {
        input.withLock {
            guard let descriptor = $0 else { return false }
            Glibc.close(descriptor)
            $0 = nil
            return true
        }
    }

    private static func stopAll() {
        for keeper in all.withLock({ $0 }).filter({ $0.close() }) { keeper.shell.wait() }
    }
}
