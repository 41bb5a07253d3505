import HTTPTypes
import NIOCore

/// The heads of answers that bring what was asked for, as bytes: what all of them say is put together once, and the
/// values of one answer are written behind it.
struct AnswerHeads: Sendable {
    let reads: ReadHeads
    private let changed: [UInt8]
    private let created: [UInt8]

    /// - Parameters:
    ///   - fields: the headers that all of these answers have.
    ///   - more: those that only answers to reads have.
    init(_ fields: HTTPFields, ofReads more: [HTTPField]) {
        var ofReads = fields
        for field in more { ofReads.append(field) }
        reads = ReadHeads(ofReads)
        changed = ReadHeads.lines("HTTP/1.1 200 OK", fields)
        created = ReadHeads.lines("HTTP/1.1 201 Created", fields)
    }

    /// Bytes that the head of an answer to a change has at most.
    func bytesMax(location: String?) -> Int {
        created.count + ReadHeads.ownBytesMax + (location?.utf8.count ?? 0)
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

/// The heads of answers to reads, as bytes: 200 for who is sent a body, 304 for who has it already.
struct ReadHeads: Sendable {
    private let found: [UInt8]
    private let unchanged: [UInt8]

    /// Bytes of a request id, a date, a tag, a length and their names.
    fileprivate static let ownBytesMax = 200

    /// - Parameter fields: the headers that all of these answers have; of those about the body 304 has none.
    init(_ fields: HTTPFields) {
        var withoutBody = fields
        withoutBody[.contentType] = nil
        withoutBody[.contentEncoding] = nil
        found = Self.lines("HTTP/1.1 200 OK", fields)
        unchanged = Self.lines("HTTP/1.1 304 Not Modified", withoutBody)
    }

    fileprivate static func lines(_ status: String, _ fields: HTTPFields) -> [UInt8] {
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
