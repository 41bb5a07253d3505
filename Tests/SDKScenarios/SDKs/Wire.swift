import Foundation
import ParseProtocol
import TestSupport

/// An SDK's requests byte for byte: no HTTP library adds, reorders or re-spells headers.
struct Wire: Sendable {
    struct Answer: Sendable {
        let status: Int
        let head: String
        let text: String
        let json: JSON

        var code: Int? { json["code"]?.intValue.map(Int.init) }
        var results: [JSON] { json["results"]?.arrayValue ?? [] }
        func header(_ name: String) -> String? {
            for line in head.split(separator: "\r\n") {
                let parts = line.split(separator: ":", maxSplits: 1)
                guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { continue }
                return parts[1].trimmingCharacters(in: .whitespaces)
            }
            return nil
        }
    }

    let suite: Suite
    /// The lines that every request of the SDK has.
    let headers: [String]

    /// - Parameters:
    ///   - line: verb and target, `GET /parse/health`.
    ///   - more: further header lines.
    func send(_ line: String, _ more: [String] = [], _ body: String = "") async throws -> Answer {
        try await send(line, more, bytes: Array(body.utf8))
    }

    /// A body that is not text.
    func send(_ line: String, _ more: [String] = [], bytes: [UInt8]) async throws -> Answer {
        let host = suite.url.replacingOccurrences(of: "http://", with: "").split(separator: "/")[0]
        var lines = ["\(line) HTTP/1.1", "Host: \(host)"] + headers + more
        if !bytes.isEmpty || line.hasPrefix("P") { lines.append("Content-Length: \(bytes.count)") }
        return try await exchange(lines, bytes)
    }

    /// The body in chunks of a few bytes.
    func sendChunked(_ line: String, _ more: [String] = [], _ body: String) async throws -> Answer {
        let host = suite.url.replacingOccurrences(of: "http://", with: "").split(separator: "/")[0]
        let lines = ["\(line) HTTP/1.1", "Host: \(host)"] + headers + more + ["Transfer-Encoding: chunked"]
        let bytes = Array(body.utf8)
        let chunks = stride(from: 0, to: bytes.count, by: 7).map { start -> String in
            let part = bytes[start..<min(start + 7, bytes.count)]
            return "\(String(part.count, radix: 16))\r\n\(String(decoding: part, as: UTF8.self))\r\n"
        }
        return try await exchange(lines, Array((chunks.joined() + "0\r\n\r\n").utf8))
    }

    private func exchange(_ lines: [String], _ body: [UInt8]) async throws -> Answer {
        let request = (lines + ["Connection: close"]).joined(separator: "\r\n") + "\r\n\r\n"
        let answer = try await RawRequest.answer(suite, Array(request.utf8) + body)
        guard let end = answer.firstRange(of: Array("\r\n\r\n".utf8)) else {
            return Answer(status: 0, head: String(decoding: answer, as: UTF8.self), text: "", json: .null)
        }
        let head = String(decoding: answer[..<end.lowerBound], as: UTF8.self)
        // As the HTTP libraries of the SDKs do that accept gzip.
        let bytes = try Gunzip.unpacked(Array(answer[end.upperBound...]))
        let text = String(decoding: bytes, as: UTF8.self)
        let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return Answer(status: status, head: head, text: text, json: (try? JSON(parsing: text)) ?? .null)
    }

    /// A value for a query string.
    static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }
}
