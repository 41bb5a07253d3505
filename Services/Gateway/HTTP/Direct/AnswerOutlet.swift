import NIOCore

/// The way of answers that are bytes already, past the handlers that make bytes of answers. It stands between these and
/// the socket.
final class AnswerOutlet: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private var context: ChannelHandlerContext?
    private var isEnding = false

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// Sends the bytes of a whole answer.
    /// - Parameters:
    ///   - promise: kept when the last of them is with the socket.
    ///   - end: writes the end of an answer, by which the other handlers know of this one.
    func send(_ first: ByteBuffer, _ more: ByteBuffer?, promise: EventLoopPromise<Void>?, end: () -> Void) {
        // Without a place in the pipeline the connection is closed.
        guard let context else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        context.write(wrapOutboundOut(.byteBuffer(first)), promise: more == nil ? promise : nil)
        if let more { context.write(wrapOutboundOut(.byteBuffer(more)), promise: promise) }
        isEnding = true
        end()
        isEnding = false
        context.flush()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // Behind an answer that was sent in chunks the encoder takes the end for that of another such answer.
        guard isEnding else { return context.write(data, promise: promise) }
        // Who waits for it waits for the answer.
        if let promise { context.write(wrapOutboundOut(.byteBuffer(ByteBuffer())), promise: promise) }
    }
}
