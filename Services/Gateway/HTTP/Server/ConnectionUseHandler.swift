import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Closes an idle connection, and when the gateway stops each connection whose requests are answered (`ConnectionUse`).
/// It precedes `LiveUpgrade` and `RequestHandler`, so that it sees their answers.
final class ConnectionUseHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// Longer than common clients and proxies keep an idle connection themselves.
    private static let idleMax = TimeAmount.seconds(75)

    private var use = ConnectionUse(idleMax: idleMax, now: .now())
    private var look: Scheduled<Void>?

    func handlerAdded(context: ChannelHandlerContext) { perform(.look(at: use.end), context) }

    func handlerRemoved(context: ChannelHandlerContext) {
        look?.cancel()
        look = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: use.headArrived(now: .now())
        case .body: use.bodyArrived(now: .now())
        case .end: use.endArrived(now: .now())
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        let step = use.answered(now: .now())
        context.write(data, promise: promise)
        if step == .close { context.flush() }
        perform(step, context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            perform(use.ends(), context)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    private func perform(_ step: ConnectionUse.Step, _ context: ChannelHandlerContext) {
        switch step {
        case .goesOn: break
        case .close: context.close(promise: nil)
        case .look(let time):
            guard look == nil else { break }
            let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
            look = context.eventLoop.scheduleTask(deadline: time) {
                let (handler, context) = bound.value
                handler.look = nil
                handler.perform(handler.use.looked(now: .now()), context)
            }
        }
    }
}
