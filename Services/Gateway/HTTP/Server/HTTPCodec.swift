import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1

/// A part of a request: its head, any number of parts of the body, and the end with the trailers that the client sent.
package enum HTTPRequestPart: Sendable, Hashable {
    case head(HTTPRequest)
    case body(ByteBuffer)
    case end(HTTPFields?)
}

/// A part of a response: its head, any number of parts of the body, and the end.
package enum HTTPResponsePart: Sendable, Hashable {
    case head(HTTPResponse)
    case body(ByteBuffer)
    case end(HTTPFields?)
    /// `ResponseOutlet` has written a whole response: the handlers count it as complete, and nothing is encoded.
    case sent
}

/// Translates NIO's decoded HTTP/1 requests to HTTPTypes, and responses back for NIO's encoder.
///
/// The codec of swift-nio-extras does the same. It is not used: it parses each path as a URL and would add eleven
/// packages.
package final class HTTPCodec: ChannelDuplexHandler, RemovableChannelHandler, Sendable {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias InboundOut = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPServerResponsePart

    private struct InvalidMethod: Error {}

    package init() {}

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            guard let request = Self.request(head) else { return context.fireErrorCaught(InvalidMethod()) }
            context.fireChannelRead(wrapInboundOut(.head(request)))
        case .body(let body): context.fireChannelRead(wrapInboundOut(.body(body)))
        case .end(let trailers):
            context.fireChannelRead(wrapInboundOut(.end(trailers.map { Self.fields($0).others })))
        }
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let part: HTTPServerResponsePart
        switch unwrapOutboundIn(data) {
        case .head(let response):
            let status = HTTPResponseStatus(
                statusCode: response.status.code, reasonPhrase: response.status.reasonPhrase)
            let headers = Self.headers(response.headerFields)
            part = .head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))
        case .body(let body): part = .body(.byteBuffer(body))
        case .end(let trailers): part = .end(trailers.map(Self.headers))
        case .sent:
            promise?.succeed()
            return
        }
        context.write(wrapOutboundOut(part), promise: promise)
    }

    /// Nil when the method is no token.
    private static func request(_ head: HTTPRequestHead) -> HTTPRequest? {
        guard let method = method(head.method) else { return nil }
        let (host, others) = fields(head.headers)
        return HTTPRequest(
            method: method, scheme: "http", authority: host, path: path(head.uri), headerFields: others)
    }

    private static func method(_ method: HTTPMethod) -> HTTPRequest.Method? {
        switch method {
        case .GET: .get
        case .PUT: .put
        case .HEAD: .head
        case .POST: .post
        case .DELETE: .delete
        case .OPTIONS: .options
        case .PATCH: .patch
        default: HTTPRequest.Method(method.rawValue)
        }
    }

    /// The first `Host`, and all other headers with a valid name.
    private static func fields(_ headers: HTTPHeaders) -> (host: String?, others: HTTPFields) {
        var host: String?
        var fields = HTTPFields()
        fields.reserveCapacity(headers.count)
        for header in headers {
            // Most clients write `Host`.
            if host == nil, header.name == "Host" || header.name.lowercased() == "host" {
                host = header.value
            } else if let name = HTTPField.Name(header.name) {
                fields.append(HTTPField(name: name, value: header.value))
            }
        }
        return (host, fields)
    }

    private static func headers(_ fields: HTTPFields) -> HTTPHeaders {
        HTTPHeaders(fields.map { ($0.name.rawName, $0.value) })
    }

    /// The path and the query of a request's target. Some proxies send a whole URL (RFC 9112, section 3.2.2).
    private static func path(_ target: String) -> String {
        guard target.utf8.first != UInt8(ascii: "/"), let parts = URLComponents(string: target),
            let text = parts.string, parts.rangeOfScheme != nil
        else { return target }
        let path = parts.rangeOfPath, query = parts.rangeOfQuery
        guard let start = path?.lowerBound ?? query?.lowerBound, let end = query?.upperBound ?? path?.upperBound,
            start < end
        else { return "/" }
        return path?.isEmpty == false ? String(text[start..<end]) : "/\(text[start..<end])"
    }
}
