import Foundation
import TestSupport

/// A server that gives scripted answers to one connection after the other, and then disconnects
/// (https://www.postgresql.org/docs/current/protocol-message-formats.html).
final class ScriptedServer: Sendable {
    let folder: String
    private let descriptor: Int32

    /// The connection string.
    var string: String { "postgresql://x@/x?host=\(folder)" }

    init() throws {
        folder = "/tmp/satchel-pq-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: "\(folder)/.s.PGSQL.5432".utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0, listen(descriptor, 8) == 0 else { throw NeverHappened("No socket.") }
    }

    deinit {
        close(descriptor)
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Accepts a connection on a new thread and sends one answer for each sync.
    func answer(_ answers: [[UInt8]]) {
        Thread.detachNewThread { [self] in
            let client = accept(descriptor, nil, nil)
            defer { close(client) }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            guard recv(client, &buffer, buffer.count, 0) > 0 else { return }
            _ = send(client, Self.greeting, Self.greeting.count, Int32(truncatingIfNeeded: MSG_NOSIGNAL))
            for answer in answers {
                guard readSync(client) else { break }
                _ = send(client, answer, answer.count, Int32(truncatingIfNeeded: MSG_NOSIGNAL))
            }
        }
    }

    private func readSync(_ client: Int32) -> Bool {
        var (received, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        while received.suffix(5) != [UInt8(ascii: "S"), 0, 0, 0, 4] {
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0 else { return false }
            received += buffer[..<count]
        }
        return true
    }

    // MARK: - Messages

    static func message(_ type: Character, _ body: [UInt8] = []) -> [UInt8] {
        Array("\(type)".utf8) + withUnsafeBytes(of: UInt32(body.count + 4).bigEndian, Array.init) + body
    }

    static let ready = message("Z", Array("I".utf8))
    private static let greeting =
        message("R", [0, 0, 0, 0]) + message("S", Array("client_encoding\0UTF8\0".utf8))
        + message("S", Array("server_version\015.0\0".utf8)) + message("K", [0, 0, 0, 1, 0, 0, 0, 2]) + ready

    /// Answers a prepare and an execute without rows.
    static let done = message("1") + message("2") + message("n") + message("C", Array("SELECT 0\0".utf8)) + ready

    /// Answers a prepare and an execute with one row of an integer and a text.
    static let row =
        message("1") + message("2")
        + message(
            "T",
            [0, 2] + Array("a\0".utf8) + [0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 0, 8, 255, 255, 255, 255, 0, 0]
                + Array("b\0".utf8) + [0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 255, 255, 255, 255, 255, 255, 0, 0])
        + message("D", [0, 2, 0, 0, 0, 2, 52, 50, 0, 0, 0, 3] + Array("abc".utf8))
        + message("C", Array("SELECT 1\0".utf8)) + ready

    static func error(_ state: String) -> [UInt8] {
        message("E", Array("SERROR\0VERROR\0C\(state)\0Mwords\0\0".utf8))
    }
}
