import HTTPTypes
import NIOCore

/// A response: its head, and the source of its body.
package struct Response: Sendable {
    package let status: HTTPResponse.Status
    package let headers: HTTPFields
    package let body: ResponseBody

    /// - Parameter headers: without a length, the length of the body is added where it is known.
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

    /// The response to `HEAD` for this response to `GET`.
    var withoutBody: Response { Response(status: status, headers: headers) }
}

/// The body of a response.
package enum ResponseBody: Sendable {
    case empty
    /// Sent at once, with the head.
    case whole(ByteBuffer)
    /// Made while it is sent; without a length it goes out in chunks. The response ends when the closure returns. When
    /// it throws, the connection is closed within the response.
    case stream(length: Int? = nil, @Sendable (ResponseBodyWriter) async throws -> Void)

    /// Nil for a stream without a length.
    package var contentLength: Int? {
        switch self {
        case .empty: 0
        case .whole(let buffer): buffer.readableBytes
        case .stream(let length, _): length
        }
    }
}
