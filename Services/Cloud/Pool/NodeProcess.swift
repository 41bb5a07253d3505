import Foundation
import Glibc

/// A child process with a socket to it as its descriptor 3, no input, and its outputs in a pipe. Owned by one thread,
/// by whose end it ends as well.
final class NodeProcess {
    /// The reason why a process cannot be started: what failed, and the error's number.
    struct Failure: Error, CustomStringConvertible {
        let step: String
        let number: Int32
        var description: String { "\(step): \(String(cString: strerror(number)))" }
    }

    /// Bytes that may wait for a process that does not read.
    private static let outgoingMax = 2 * FrameReader.bytesMax
    private static let readBytes = 64 << 10
    /// Bytes that were sent and are still kept in front of those that wait.
    private static let sentMax = 1 << 20

    let pid: pid_t
    let socket: Int32
    /// -1 when nothing more comes from it, which `poll` passes over.
    private(set) var output: Int32
    private var outgoing: [UInt8] = []
    private var sent = 0
    private var buffer = [UInt8](repeating: 0, count: readBytes)

    /// - Throws: `Failure`.
    init(_ arguments: [String], environment: [String]) throws(Failure) {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw Failure(step: "socketpair", number: errno) }
        defer { close(ends[1]) }
        var pipes: [Int32] = [-1, -1]
        guard pipe(&pipes) == 0 else {
            close(ends[0])
            throw Failure(step: "pipe", number: errno)
        }
        defer { close(pipes[1]) }
        // Nobody else starts processes here, who could inherit them before this.
        for descriptor in pipes { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        do throws(Failure) {
            pid = try Self.spawn(arguments, environment, socket: ends[1], output: pipes[1])
        } catch {
            close(ends[0])
            close(pipes[0])
            throw error
        }
        (socket, output) = (ends[0], pipes[0])
        for descriptor in [socket, output] { _ = fcntl(descriptor, F_SETFL, O_NONBLOCK) }
    }

    deinit {
        close(socket)
        closeOutput()
    }

    func closeOutput() {
        if output >= 0 { close(output) }
        output = -1
    }

    private static func spawn(
        _ arguments: [String], _ environment: [String], socket: Int32, output: Int32
    ) throws(Failure) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, output, 2)
        // Last: one of the others may be number 3 here. Every other descriptor closes by itself.
        posix_spawn_file_actions_adddup2(&actions, socket, 3)

        // Signals that this process ignores or blocks would stay so in the child.
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
        let result = withCStrings(arguments) { argv in
            withCStrings(environment) { posix_spawn(&pid, arguments[0], &actions, &attributes, argv, $0) }
        }
        guard result == 0 else { throw Failure(step: arguments[0], number: result) }
        return pid
    }

    private static func withCStrings<Result>(
        _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = texts.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }

    // MARK: The socket

    var hasOutgoing: Bool { sent < outgoing.count }

    /// Sends a frame, as much as goes now; the rest when `flush` is called.
    /// - Returns: false for a process that is not there or does not read.
    func send(_ frame: [UInt8]) -> Bool {
        if sent == outgoing.count {
            outgoing.removeAll(keepingCapacity: outgoing.capacity <= Self.readBytes)
            sent = 0
        } else if sent > Self.sentMax {
            // One that always has something to read would else keep all that it was ever sent.
            outgoing.removeFirst(sent)
            sent = 0
        }
        outgoing += frame
        return outgoing.count - sent <= Self.outgoingMax && flush()
    }

    func flush() -> Bool {
        while hasOutgoing {
            let count = outgoing.withUnsafeBytes {
                Glibc.send(
                    socket, $0.baseAddress.map { $0 + sent }, $0.count - sent,
                    Int32(truncatingIfNeeded: MSG_NOSIGNAL))
            }
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            sent += count
        }
        return true
    }

    /// What there is to read now, at most 64 KiB; nil for nothing yet, empty at the end.
    func read(from descriptor: Int32) -> ArraySlice<UInt8>? {
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        if count < 0 { return errno == EAGAIN || errno == EINTR ? nil : [] }
        return buffer[..<count]
    }

    // MARK: Its end

    func kill() { _ = Glibc.kill(pid, SIGKILL) }

    /// Kills it, waits for its end, and says how it ended.
    func reap() -> String {
        var status: Int32 = 0
        // It may be about to end by itself, which says more than our signal.
        var reaped = waitpid(pid, &status, WNOHANG)
        if reaped == 0 {
            kill()
            repeat { reaped = waitpid(pid, &status, 0) } while reaped < 0 && errno == EINTR
        }
        return status & 0x7F == 0 ? "status \((status >> 8) & 0xFF)" : "signal \(status & 0x7F)"
    }
}
