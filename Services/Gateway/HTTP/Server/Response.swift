import HTTPTypes
import NIOCore

/// An answer to a request: its head and what becomes its body.
package struct Response: Sendable {
    package let status: HTTPResponse.Status
    package let headers: HTTPFields
    package let body: ResponseBody

    /// - Parameter headers: those of the answer; the length of the body is added where it is known and none is among
    ///   them.
    package init(status: HTTPResponse.Status, headers: HTTPFields = [:], body: ResponseBody = .empty) {
        self.status = status
        var headers = headers
        if let length = body.contentLength, !headers.contains(.contentLength) {
            headers[.contentLength] = String(length)
        }
        self.headers = headers
        self.body = body
    }

    var head: HTTPResponse { HTTPResponse(status: status, headerFields: headers) }

    /// The answer to `HEAD` that says what this one is to `GET`.
    var withoutBody: Response { Response(status: status, headers: headers) }
}

/// The bytes behind the head of an answer.
package enum ResponseBody: Sendable {
    case empty
    /// Sent at once, with the head.
    case whole(ByteBuffer)
    /// Made while it is sent; without a length it goes out in chunks. The answer ends when the closure returns; when it
    /// throws, the connection ends in the middle of the answer.
    case stream(length: Int? = nil, @Sendable (ResponseBodyWriter) async throws -> Void)

    /// Bytes of it, as far as they are known beforehand.
    package var contentLength: Int? {
        switch self {
        case .empty: 0
        case .whole(let buffer): buffer.readableBytes
        case .stream(let length, _): length
        }
    }
}
