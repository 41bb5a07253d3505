import GatewayService
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import ProcessKit
import Synchronization
import Testing

/// Requests from a connection to their tasks, and answers back, with backpressure in both directions.
@Suite(.timeLimit(.minutes(1))) struct RequestHandlerTests {
    /// Counts the writes that reach the socket.
    private final class Socket: ChannelOutboundHandler, Sendable {
        typealias OutboundIn = HTTPResponsePart
        typealias OutboundOut = HTTPResponsePart

        let reads = Mutex(0)

        func read(context: ChannelHandlerContext) {
            reads.withLock { $0 += 1 }
            context.read()
        }
    }

    /// A connection whose requests a closure answers.
    private struct Connection {
        let channel: NIOAsyncTestingChannel
        let connections = OpenConnections()
        let socket = Socket()

        init(respond: @escaping RequestHandler.Respond) async throws {
            let (connections, socket) = (connections, socket)
            channel = try await NIOAsyncTestingChannel { channel in
                try channel.pipeline.syncOperations.addHandler(socket)
                try channel.pipeline.syncOperations.addHandler(RequestHandler(connections, respond: respond))
            }
            try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
        }

        func send(_ parts: HTTPRequestPart...) async throws {
            for part in parts { try await channel.writeInbound(part) }
        }

        func next() async throws -> HTTPResponsePart { try await channel.waitForOutboundWrite() }

        func setWritable(_ isWritable: Bool) async throws {
            try await channel.testingEventLoop.executeInContext { [channel] in
                channel.isWritable = isWritable
                channel.pipeline.syncOperations.fireChannelWritabilityChanged()
            }
        }

        /// Reads again from the socket, as the channel does after a read.
        func read() async throws -> Int {
            try await channel.testingEventLoop.executeInContext { [channel] in
                channel.pipeline.syncOperations.read()
            }
            return socket.reads.withLock(\.self)
        }
    }

    private static func head(_ path: String, _ fields: HTTPFields = [:]) -> HTTPRequestPart {
        .head(HTTPRequest(method: .post, scheme: "http", authority: nil, path: path, headerFields: fields))
    }

    private static func answer(_ text: String) -> Response {
        Response(status: .ok, body: .whole(ByteBuffer(string: text)))
    }

    private func expectAnswer(_ text: String, _ connection: Connection) async throws {
        let head = HTTPResponse(status: .ok, headerFields: [.contentLength: String(text.utf8.count)])
        #expect(try await connection.next() == .head(head))
        #expect(try await connection.next() == .body(ByteBuffer(string: text)))
        #expect(try await connection.next() == .end(nil))
    }

    @Test func answersComeInTheOrderOfTheRequests() async throws {
        let connection = try await Connection { request, _ in
            var text = request.uri.path
            for try await part in request.body { text += String(buffer: part) }
            return Self.answer(text)
        }
        try await connection.send(Self.head("/1"), .body(ByteBuffer(string: "a")))
        try await connection.send(.body(ByteBuffer(string: "b")), .end(nil), Self.head("/2?q"), .end(nil))
        try await expectAnswer("/1ab", connection)
        try await expectAnswer("/2", connection)
        try await connection.send(Self.head("/3"), .end(nil))
        try await expectAnswer("/3", connection)
    }

    @Test func aBodyThatNobodyReadsIsDropped() async throws {
        let connection = try await Connection { request, _ in Self.answer(request.uri.path) }
        try await connection.send(Self.head("/1"), .body(ByteBuffer(string: "a")))
        try await expectAnswer("/1", connection)
        for _ in 0..<(2 * BodyFlow.partsMax) { try await connection.send(.body(ByteBuffer(string: "b"))) }
        #expect(try await connection.read() == 1)
        try await connection.send(.end(nil), Self.head("/2"), .end(nil))
        try await expectAnswer("/2", connection)
    }

    @Test func theSocketIsReadAsTheBodyIsTaken() async throws {
        let mayRead = ProcessEnd()
        let connection = try await Connection { request, _ in
            await mayRead.wait()
            var count = 0
            for try await part in request.body { count += part.readableBytes }
            return Self.answer("\(count)")
        }
        try await connection.send(Self.head("/1"))
        for count in 0..<BodyFlow.partsMax {
            #expect(try await connection.read() == count + 1)
            try await connection.send(.body(ByteBuffer(string: "b")))
        }
        #expect(try await connection.read() == BodyFlow.partsMax, "Enough is there.")
        mayRead.ask()
        while connection.socket.reads.withLock(\.self) == BodyFlow.partsMax { await Task.yield() }
        try await connection.send(.body(ByteBuffer(string: "b")), .end(nil))
        try await expectAnswer("\(BodyFlow.partsMax + 1)", connection)
    }

    @Test func anAnswerIsMadeAsTheClientTakesIt() async throws {
        let made = Mutex(0)
        let count: @Sendable () -> Void = { made.withLock { $0 += 1 } }
        let connection = try await Connection { _, _ in
            Response(
                status: .ok,
                body: .stream { writer in
                    for part in ["a", "", "b"] {
                        count()
                        try await writer.write(ByteBuffer(string: part))
                    }
                })
        }
        try await connection.setWritable(false)
        try await connection.send(Self.head("/1"), .end(nil), Self.head("/2"), .end(nil))
        #expect(try await connection.next() == .head(HTTPResponse(status: .ok)))
        #expect(try await connection.next() == .body(ByteBuffer(string: "a")))
        #expect(made.withLock(\.self) == 1, "There is no room for another part.")
        try await connection.setWritable(true)
        #expect(try await connection.next() == .body(ByteBuffer(string: "b")))
        #expect(try await connection.next() == .end(nil))
        #expect(try await connection.next() == .head(HTTPResponse(status: .ok)), "The next request's.")
    }

    @Test func aClientThatTakesNothingGetsNoFurtherAnswer() async throws {
        let answered = Mutex<[String]>([])
        let note: @Sendable (String) -> Void = { path in answered.withLock { $0.append(path) } }
        let connection = try await Connection { request, _ in
            note(request.uri.path)
            return Self.answer(request.uri.path)
        }
        try await connection.setWritable(false)
        try await connection.send(Self.head("/1"), .end(nil), Self.head("/2"), .end(nil))
        try await expectAnswer("/1", connection)
        // After this read, the event loop has processed the end of the first request.
        _ = try await connection.read()
        #expect(answered.withLock(\.self) == ["/1"])
        try await connection.setWritable(true)
        try await expectAnswer("/2", connection)
    }

    @Test func whatIsNoHTTPIsRefused() async throws {
        let connection = try await Connection { request, _ in
            for try await _ in request.body {}
            return Self.answer("whole")
        }
        try await connection.send(Self.head("/1"), .body(ByteBuffer(string: "a")))
        connection.channel.pipeline.fireErrorCaught(HTTPParserError.invalidChunkSize)
        let head = HTTPResponse(status: .badRequest, headerFields: [.connection: "close", .contentLength: "0"])
        #expect(try await connection.next() == .head(head))
        #expect(try await connection.next() == .end(nil))
        try await connection.channel.closeFuture.get()
    }

    @Test func anAnswerThatBreaksOffEndsTheConnection() async throws {
        let connection = try await Connection { _, _ in
            Response(
                status: .ok,
                body: .stream(length: 2) { writer in
                    try await writer.write(ByteBuffer(string: "a"))
                    throw CancellationError()
                })
        }
        try await connection.send(Self.head("/1"), .end(nil))
        try await connection.channel.closeFuture.get()
    }

    /// Cancelling could leave a change half done.
    @Test func aRequestWhoseClientHasGoneIsWorkedOnToItsEnd() async throws {
        let (began, mayEnd, ended) = (ProcessEnd(), ProcessEnd(), ProcessEnd())
        let connection = try await Connection { _, _ in
            began.ask()
            await mayEnd.wait()
            if !Task.isCancelled { ended.ask() }
            return Self.answer("late")
        }
        try await connection.send(Self.head("/1"), .end(nil))
        await began.wait()
        try await connection.channel.close().get()
        let connections = connection.connections
        async let end: Void = connections.end()
        #expect(!ended.isRequested)
        mayEnd.ask()
        await end
        #expect(ended.isRequested, "The end waits for it.")
    }

    @Test func noWritesAfterTheConnectionIsClosed() async throws {
        let (began, mayWrite, failed) = (ProcessEnd(), ProcessEnd(), ProcessEnd())
        let connection = try await Connection { _, _ in
            Response(
                status: .ok,
                body: .stream { writer in
                    began.ask()
                    await mayWrite.wait()
                    do { try await writer.write(ByteBuffer(string: "a")) } catch { failed.ask() }
                })
        }
        try await connection.send(Self.head("/1"), .end(nil))
        await began.wait()
        try await connection.channel.close().get()
        mayWrite.ask()
        await failed.wait()
        await connection.connections.end()
    }

    @Test(
        arguments: [
            ("/a/b", "/a/b", nil), ("/a?b=/c?d", "/a", "b=/c?d"), ("/a?", "/a", ""), ("/a?b#c", "/a", "b"),
            ("", "/", nil),
            ("*", "*", nil), ("http://shop.example/a?b", "/a", "b"), ("http://shop.example", "/", nil),
            ("http://shop.example:80?b", "/", "b"), ("/http://a", "/http://a", nil), ("//a", "//a", nil),
        ] as [(String, String, String?)])
    func targetsHaveAPathAndAQuery(target: String, path: String, query: String?) {
        #expect(URI(target).path == path)
        #expect(URI(target).query == query)
    }
}
