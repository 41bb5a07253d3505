import HTTPTypes
import NIOCore

/// Sends the response of a task over its connection.
package struct ResponseBodyWriter: Sendable {
    private let connection: NIOLoopBound<(handler: RequestHandler, context: ChannelHandlerContext)>
    private let loop: any EventLoop
    private let channel: any Channel

    /// Whether the client is still there.
    var isConnected: Bool { channel.isActive }

    /// Called on the connection's event loop.
    init(_ handler: RequestHandler, _ context: ChannelHandlerContext) {
        loop = context.eventLoop
        channel = context.channel
        connection = NIOLoopBound((handler, context), eventLoop: loop)
    }

    /// Sends the next part of the body.
    ///
    /// Returns when the client has taken so much that there is room for another part. A task that sends small parts
    /// holds little memory, however slow the client is.
    /// - Throws: `ChannelError` when the connection is closed.
    package func write(_ part: ByteBuffer) async throws {
        // An empty part would end a body that is sent in chunks.
        guard part.readableBytes > 0 else { return }
        try await withCheckedThrowingContinuation { written in
            onLoop { handler, context in handler.write(part, written, context) }
        }
    }

    /// Makes a response and sends it.
    func send(_ make: @Sendable () async throws -> OutgoingResponse) async {
        do {
            let outgoing = try await make()
            guard case .response(let response) = outgoing, case .stream(_, let write) = response.body else {
                return onLoop { handler, context in
                    handler.finish(context) { handler.write(outgoing, nil, context) }
                }
            }
            let head = HTTPResponsePart.head(response.head)
            onLoop { handler, context in handler.sendHead(head, context) }
            try await write(self)
            onLoop { handler, context in handler.end(context) }
        } catch {
            onLoop { handler, context in handler.fail(error, context) }
        }
    }

    private func onLoop(_ work: @escaping @Sendable (RequestHandler, ChannelHandlerContext) -> Void) {
        loop.execute { [connection] in
            let (handler, context) = connection.value
            work(handler, context)
        }
    }
}
