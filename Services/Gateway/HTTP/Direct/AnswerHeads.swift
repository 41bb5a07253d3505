import HTTPTypes
import NIOCore

/// The heads of answers that bring what was asked for, as bytes: what all of them say is put together once, and the
/// values of one answer are written behind it.
struct AnswerHeads: Sendable {
    /// Of reads.
    private let found: [UInt8]
    private let unchanged: [UInt8]
    /// Of changes.
    private let changed: [UInt8]
    private let created: [UInt8]

    /// Bytes of a request id, a date, a tag, a length and their names.
    private static let ownBytesMax = 200

    /// - Parameters:
    ///   - fields: the headers that all of these answers have.
    ///   - more: those that only answers to reads have.
    init(_ fields: HTTPFields, ofReads more: [HTTPField]) {
        var ofReads = fields
        for field in more { ofReads.append(field) }
        var withoutBody = ofReads
        withoutBody[.contentType] = nil
        found = Self.lines("HTTP/1.1 200 OK", ofReads)
        unchanged = Self.lines("HTTP/1.1 304 Not Modified", withoutBody)
        changed = Self.lines("HTTP/1.1 200 OK", fields)
        created = Self.lines("HTTP/1.1 201 Created", fields)
    }

    private static func lines(_ status: String, _ fields: HTTPFields) -> [UInt8] {
        let lines = [status] + fields.map { "\($0.name.rawName): \($0.value)" }
        return Array((lines.joined(separator: "\r\n") + "\r\n\(HTTPFront.requestIdName.rawName): ").utf8)
    }

    /// Bytes that a head has at most.
    func bytesMax(location: String?) -> Int { found.count + Self.ownBytesMax + (location?.utf8.count ?? 0) }

    /// Writes the head of an answer to a read.
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

    /// Writes the head of an answer to a change.
    /// - Parameters:
    ///   - location: the URL of what was created, of visible ASCII; nil for what was there.
    ///   - length: bytes of the body.
    func write(requestId: String, date: String, location: String?, length: Int, to buffer: inout ByteBuffer) {
        buffer.writeBytes(location == nil ? changed : created)
        buffer.writeString(requestId)
        buffer.writeStaticString("\r\nDate: ")
        buffer.writeString(date)
        if let location {
            buffer.writeStaticString("\r\nLocation: ")
            buffer.writeString(location)
        }
        buffer.writeStaticString("\r\nContent-Length: ")
        buffer.writeString(String(length))
        buffer.writeStaticString("\r\n\r\n")
    }
}
