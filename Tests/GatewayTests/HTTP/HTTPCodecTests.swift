import GatewayService
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

/// Translation between NIO's HTTP/1 messages and HTTPTypes.
@Suite struct HTTPCodecTests {
    private func withChannel<Result>(_ body: (EmbeddedChannel) throws -> Result) throws -> Result {
        let channel = EmbeddedChannel()
        defer { _ = try? channel.finish() }
        try channel.pipeline.syncOperations.addHandler(HTTPCodec())
        return try body(channel)
    }

    private func request(
        _ target: String, _ method: HTTPMethod = .GET, _ headers: HTTPHeaders = HTTPHeaders()
    ) throws -> HTTPRequest {
        try withChannel { channel in
            let head = HTTPRequestHead(version: .http1_1, method: method, uri: target, headers: headers)
            try channel.writeInbound(HTTPServerRequestPart.head(head))
            let part = try channel.readInbound(as: HTTPRequestPart.self)
            guard case .head(let request)? = part else { throw Missing() }
            return request
        }
    }

    private struct Missing: Error {}

    static let targets = [
        ["/parse/classes/Product?limit=3", "/parse/classes/Product?limit=3"],
        ["//shop.example/a", "//shop.example/a"],
        ["/http://shop.example/", "/http://shop.example/"],
        ["*", "*"],
        ["http://shop.example/parse/a%20b?x=1&y", "/parse/a%20b?x=1&y"],
        ["http://shop.example", "/"],
    ]

    @Test(arguments: targets) func aTargetHasThePathAndTheQuery(_ target: [String]) throws {
        #expect(try request(target[0]).path == target[1])
    }

    @Test func theFirstHostIsTheAuthority() throws {
        let headers = HTTPHeaders([("accept", "x"), ("host", "a.example"), ("HOST", "b"), ("X-Y", "1"), ("x-y", "2")])
        let found = try request("/", .POST, headers)
        #expect(found.method == .post)
        #expect(found.authority == "a.example")
        #expect(found.headerFields.map(\.name.canonicalName) == ["accept", "host", "x-y", "x-y"])
        #expect(found.headerFields.map(\.value) == ["x", "b", "1", "2"])
    }

    @Test func otherMethodsAreKeptAndInvalidOnesRefused() throws {
        #expect(try request("/", .RAW(value: "BREW")).method.rawValue == "BREW")
        #expect(try request("/", .TRACE).method.rawValue == "TRACE")
        #expect(throws: (any Error).self) { try request("/", .RAW(value: "A B")) }
    }

    @Test func responsesAreTranslatedBack() throws {
        try withChannel { channel in
            let status = HTTPResponse.Status(code: 299, reasonPhrase: "Odd")
            try channel.writeOutbound(
                HTTPResponsePart.head(HTTPResponse(status: status, headerFields: [.contentType: "text/plain"])))
            try channel.writeOutbound(HTTPResponsePart.body(ByteBuffer(string: "abc")))
            try channel.writeOutbound(HTTPResponsePart.end(nil))
            let first = try channel.readOutbound(as: HTTPServerResponsePart.self)
            guard case .head(let head)? = first else { throw Missing() }
            #expect(head.status.code == 299 && head.status.reasonPhrase == "Odd")
            #expect(head.headers["Content-Type"] == ["text/plain"])
            let second = try channel.readOutbound(as: HTTPServerResponsePart.self)
            guard case .body(.byteBuffer(let bytes))? = second else { throw Missing() }
            #expect(bytes == ByteBuffer(string: "abc"))
            let third = try channel.readOutbound(as: HTTPServerResponsePart.self)
            guard case .end(nil)? = third else { throw Missing() }
        }
    }

    @Test func theEndOfASentResponseIsNotEncoded() throws {
        try withChannel { channel in
            try channel.writeOutbound(HTTPResponsePart.sent)
            #expect(try channel.readOutbound(as: HTTPServerResponsePart.self) == nil)
        }
    }
}
