import HTTPTypes
import NIOCore

/// The heads of common responses as bytes: the fields that all of them have are encoded once, and the values of one
/// response are appended. Classes, because each response refers to them.
final class ResponseHeads: Sendable {
    let reads: ReadHeads
    /// For bodies in gzip.
    let gzipReads: ReadHeads
    private let changed: [UInt8]
    private let created: [UInt8]

    /// - Parameters:
    ///   - fields: the headers that all of these responses have.
    ///   - more: the headers that only responses to reads have.
    init(_ fields: HTTPFields, ofReads more: [HTTPField]) {
        var ofReads = fields
        for field in more { ofReads.append(field) }
        reads = ReadHeads(ofReads)
        ofReads[.contentEncoding] = "gzip"
        gzipReads = ReadHeads(ofReads)
        changed = ReadHeads.lines("HTTP/1.1 200 OK", fields)
        created = ReadHeads.lines("HTTP/1.1 201 Created", fields)
    }

    /// The largest size of the head of a response to a change, in bytes.
    func bytesMax(location: String?) -> Int {
        created.count + ReadHeads.ownBytesMax + (location?.utf8.count ?? 0)
    }

    /// Writes the head of a response to a change.
    /// - Parameters:
    ///   - location: the URL of a created object, in visible ASCII (status 201); nil for status 200.
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

/// The heads of the storefront's pages as bytes.
final class PageHeads: Sendable {
    let reads: ReadHeads
    /// For bodies in gzip.
    let gzipReads: ReadHeads

    /// - Parameter fields: the headers that all of these pages have.
    init(_ fields: HTTPFields) {
        reads = ReadHeads(fields)
        var ofGzip = fields
        ofGzip[.contentEncoding] = "gzip"
        gzipReads = ReadHeads(ofGzip)
    }
}

/// The heads of responses to reads as bytes: 200 with a body, 304 for a client whose copy is current.
final class ReadHeads: Sendable {
    private let found: [UInt8]
    private let unchanged: [UInt8]

    /// Bytes of a request id, a date, a tag, a length and their names, at most.
    fileprivate static let ownBytesMax = 200

    /// - Parameter fields: the headers that all of these responses have. A 304 omits the type and encoding of the body.
    init(_ fields: HTTPFields) {
        var withoutBody = fields
        withoutBody[.contentType] = nil
        withoutBody[.contentEncoding] = nil
        found = Self.lines("HTTP/1.1 200 OK", fields)
        unchanged = Self.lines("HTTP/1.1 304 Not Modified", withoutBody)
    }

    fileprivate static func lines(_ status: String, _ fields: HTTPFields) -> [UInt8] {
        let lines = [status] + fields.map { "\($0.name.rawName): \($0.value)" }
        return Array((lines.joined(separator: "\r\n") + "\r\n\(ResponseWriter.requestIdName.rawName): ").utf8)
    }

    /// The largest size of a head in bytes.
    var bytesMax: Int { found.count + Self.ownBytesMax }

    /// - Parameter length: bytes of the body; nil for 304.
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
