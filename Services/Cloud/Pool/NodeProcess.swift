import Foundation
import Glibc
import ProcessKit

/// A child process with a socket as its descriptor 3, no input, and its outputs in a pipe. Owned by one thread; the
/// process ends when that thread ends.
final class NodeProcess {
    typealias Failure = SpawnedProgram.Failure

    /// Maximum bytes queued for a process that does not read.
    private static let outgoingMax = 2 * FrameReader.bytesMax
    private static let readBytes = 64 << 10
    /// Sent bytes that are kept in the buffer before it is compacted.
    private static let sentMax = 1 << 20

    /// It leads a process group, so that programs started by the code end with it.
    private let program: SpawnedProgram
    let socket: Int32
    /// -1 after the end of its output; `poll` ignores that value.
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
        // No other thread starts processes, so none can inherit the descriptors before this.
        for descriptor in pipes { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        do throws(Failure) {
            // The socket comes last, because one of the others may be number 3 in this process. All other descriptors
            // close automatically.
            program = try SpawnedProgram(
                arguments, environment: environment,
                descriptors: [.nothingToRead, .ours(pipes[1]), .same(1), .ours(ends[1])], leadsGroup: true)
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

    // MARK: The socket

    var hasOutgoing: Bool { sent < outgoing.count }

    /// Sends as much of a frame as the socket accepts; `flush` sends the rest.
    /// - Returns: false when the process is gone or does not read.
    func send(_ frame: [UInt8]) -> Bool {
        if sent > Self.sentMax {
            // Otherwise the buffer of a process that always has something to read would never be emptied.
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
        outgoing.removeAll(keepingCapacity: outgoing.capacity <= Self.readBytes)
        sent = 0
        return true
    }

    /// The available bytes, at most 64 KiB; nil for none yet, empty at the end.
    func read(from descriptor: Int32) -> ArraySlice<UInt8>? {
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        if count < 0 { return errno == EAGAIN || errno == EINTR ? nil : [] }
        return buffer[..<count]
    }

    // MARK: Its end

    var pid: pid_t { program.pid }

    func kill() { program.kill() }

    /// Kills the process and its group, waits for the end, and returns how it ended. A process that is already ending
    /// is not killed, because its own exit status is more informative.
    func reap() -> String {
        kill()
        return program.wait().map { "\($0)" } ?? "unknown"
    }
}
