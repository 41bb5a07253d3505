import Foundation

/// Sends raw bytes over a new connection, for requests that no HTTP library would send.
package enum RawRequest {
    /// The answer's bytes as text; empty when the server sends nothing within 30 seconds.
    package static func send(_ suite: Suite, _ head: String, _ body: String = "") async throws -> String {
        try await send(
            suite, Array(head.replacingOccurrences(of: "\n", with: "\r\n").utf8) + Array("\r\n\r\n\(body)".utf8))
    }

    /// - Parameter untilClosed: continues to read after the first answer, until the server closes the connection.
    package static func send(_ suite: Suite, _ bytes: [UInt8], untilClosed: Bool = false) async throws -> String {
        String(decoding: try await answer(suite, bytes, untilClosed: untilClosed), as: UTF8.self)
    }

    /// As `send`, for an answer that is no text.
    package static func answer(
        _ suite: Suite, _ bytes: [UInt8], untilClosed: Bool = false
    ) async throws -> [UInt8] {
        guard let port = URLComponents(string: suite.url)?.port.flatMap(UInt16.init(exactly:)) else { return [] }
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: exchange(port, bytes, untilClosed)) }
        }
    }

    private static func exchange(_ port: UInt16, _ bytes: [UInt8], _ untilClosed: Bool) -> [UInt8] {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { return [] }
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(truncatingIfNeeded: MSG_NOSIGNAL))
            }
            // A server may close the connection before it has read a refused request completely.
            guard count > 0 else { break }
            sent += count
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            answer += buffer[..<count]
            if !untilClosed, isComplete(answer, hasBody: !bytes.starts(with: Array("HEAD ".utf8))) { break }
        }
        return answer
    }

    /// Whether the answer on a persistent connection is complete.
    private static func isComplete(_ answer: [UInt8], hasBody: Bool) -> Bool {
        guard let head = answer.firstRange(of: Array("\r\n\r\n".utf8)) else { return false }
        guard hasBody else { return true }
        let lines = String(decoding: answer[..<head.lowerBound], as: UTF8.self).lowercased().split(separator: "\r\n")
        guard let line = lines.first(where: { $0.hasPrefix("content-length:") }),
            let length = Int(line.dropFirst("content-length:".count).filter { $0 != " " })
        else { return false }
        return answer.count - head.upperBound >= length
    }
}
