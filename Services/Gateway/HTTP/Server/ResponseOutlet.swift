import NIOCore

/// Writes responses that are bytes already, past the handlers that encode responses. It stands between these and the
/// socket.
final class ResponseOutlet: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// Sends the bytes of a whole response.
    /// - Parameters:
    ///   - promise: succeeds when the socket has the last byte.
    ///   - end: sends `HTTPResponsePart.sent` down the pipeline.
    func send(_ first: ByteBuffer, _ more: ByteBuffer?, promise: EventLoopPromise<Void>?, end: () -> Void) {
        // The handler has left the pipeline: the connection is closed.
        guard let context else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        context.write(wrapOutboundOut(.byteBuffer(first)), promise: more == nil ? promise : nil)
        if let more { context.write(wrapOutboundOut(.byteBuffer(more)), promise: promise) }
        end()
        context.flush()
    }
}
