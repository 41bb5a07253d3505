import HTTPTypes
import NIOCore

/// The heads of answers that bring what was asked for, as bytes: what all of them say is put together once, and the
/// values of one answer are written behind it.
struct AnswerHeads: Sendable {
    private let found: [UInt8]
    private let unchanged: [UInt8]

    /// Bytes of a request id, a date, a tag, a length and their names.
    private static let ownBytesMax = 200

    /// - Parameter fields: the headers that all of these answers have.
    init(_ fields: HTTPFields) {
        var withoutBody = fields
        withoutBody[.contentType] = nil
        found = Self.lines("HTTP/1.1 200 OK", fields)
        unchanged = Self.lines("HTTP/1.1 304 Not Modified", withoutBody)
    }

    private static func lines(_ status: String, _ fields: HTTPFields) -> [UInt8] {
        let lines = [status] + fields.map { "\($0.name.rawName): \($0.value)" }
        return Array((lines.joined(separator: "\r\n") + "\r\n\(HTTPFront.requestIdName.rawName): ").utf8)
    }

    /// Bytes that a head has at most.
    var bytesMax: Int { found.count + Self.ownBytesMax }

    /// Writes a head.
    /// - Parameter length: bytes of the body; nil for a client that has it already.
    func write(requestId: String, date: String, tag: String, length: Int?, to buffer: inout ByteBuffer) {
        buffer.writeBytes(length == nil ? unchanged : found)
        buffer.writeString(requestId)
        buffer.writeStaticString("\r\nDate: ")
        buffer.writeString(date)
        buffer.writeStaticString("\r\nETag: ")
        buffer.writeString(tag)
        if let length {
            buffer.writeStaticString("\r\nContent-Length: ")
            buffer.writeString(String(length))
        }
        buffer.writeStaticString("\r\n\r\n")
    }
}
