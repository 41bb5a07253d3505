import Glibc
import Logging
import NIOCore

/// The listener's handler that carries out the decisions of `AcceptLimit`.
///
/// NIO's own `AcceptBackoffHandler` leaves a listener registered for reading after a failed accept. The listener stays
/// readable, and the event loop spins. Without `autoRead` NIO removes the registration.
final class AcceptHandler: ChannelInboundHandler {
    typealias InboundIn = any Channel

    /// The interval between two checks for free descriptors.
    private static let pause = TimeAmount.milliseconds(100)

    private let logger: Logger
    private var limit = AcceptLimit()
    private var nextCheck: Scheduled<Void>?

    init(_ logger: Logger) { self.logger = logger }

    func channelReadComplete(context: ChannelHandlerContext) {
        act(limit.checked(lowestFree: Self.lowestFree, of: Self.descriptorsMax, now: Self.now), context)
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError else { return context.fireErrorCaught(error) }
        // Any other failure concerns one connection, which is closed already.
        guard [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) else { return }
        act(limit.failed(now: Self.now), context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        nextCheck?.cancel()
        context.fireChannelInactive()
    }

    private func act(_ action: AcceptLimit.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .none: break
        case .pause(let shouldReport):
            if shouldReport {
                logger.error(
                    "The gateway accepts no connections until file descriptors are free.",
                    metadata: ["descriptors.max": "\(Self.descriptorsMax)"])
            }
            try? context.channel.syncOptions?.setOption(.autoRead, value: false)
            checkLater(context)
        case .resume: try? context.channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }

    private func checkLater(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        nextCheck = context.eventLoop.scheduleTask(in: Self.pause) {
            let (handler, context) = bound.value
            let action = handler.limit.checked(
                lowestFree: Self.lowestFree, of: Self.descriptorsMax, now: Self.now)
            handler.act(action, context)
            if action == .none { handler.checkLater(context) }
        }
    }

    /// The number of the next descriptor that the process opens.
    private static var lowestFree: Int? {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        close(descriptor)
        return Int(descriptor)
    }

    /// The limit of the process. The operator may change it at run time (prlimit(1)).
    private static var descriptorsMax: Int {
        var limits = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0 else { return .max }
        return Int(clamping: limits.rlim_cur)
    }

    private static var now: Double { Double(NIODeadline.now().uptimeNanoseconds) / 1e9 }
}
