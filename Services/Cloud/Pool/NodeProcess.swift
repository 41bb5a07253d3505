import Foundation
import Glibc
import ProcessKit

/// A child process with a socket to it as its descriptor 3, no input, and its outputs in a pipe. Owned by one thread,
/// by whose end it ends as well.
final class NodeProcess {
    typealias Failure = SpawnedProgram.Failure

    /// Bytes that may wait for a process that does not read.
    private static let outgoingMax = 2 * FrameReader.bytesMax
    private static let readBytes = 64 << 10
    /// Bytes that were sent and are still kept in front of those that wait.
    private static let sentMax = 1 << 20

    /// It leads a group, so that what the code starts ends with it.
    private let program: SpawnedProgram
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
            // The socket is last: one of the others may be number 3 here. Every other descriptor closes by itself.
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

    var pid: pid_t { program.pid }

    func kill() { program.kill() }

    /// Kills it and what it started, waits for its end, and says how it ended. One that is ending already does so by
    /// itself, which says more than our signal.
    func reap() -> String {
        kill()
        return program.wait().map { "\($0)" } ?? "unknown"
    }
}
