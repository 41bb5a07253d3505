import MessageBus
import Messages
import NIOCore
import NIOWebSocket
import ParseProtocol
import Synchronization

/// One WebSocket of a client, on its event loop: frames become messages of `LiveSession`, and what the hub tells
/// becomes frames.
///
/// It stands before the handlers of HTTP, which stay in the channel and see nothing any more but its end.
final class LiveSocket: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    /// What the handlers of HTTP would still write; it goes nowhere.
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// A client that has not said who it is by then is gone.
    private static let connectSeconds = TimeAmount.seconds(10)
    /// The time in which a client takes what is left for it and the end, as in `ConnectionGuard`.
    private static let closeSeconds = TimeAmount.seconds(5)

    private let hub: LiveHub
    private let address: SocketAddress?
    private let outlet = LiveOutlet()
    private let clientId = Names.random(32)
    private var client: LiveText.Client
    private var session: LiveSession
    private var queue: LiveQueue<ByteBuffer>
    /// Bytes of the queue that are counted among those of all.
    private var counted = 0
    private var subscriptions: [Int64: LiveSubscription] = [:]
    private var admitted: (principal: Principal, credentials: Credentials)?
    private var clock: RepeatedTask?
    /// Ends the connection when it does not become what it should: connected, or closed.
    private var limit: Scheduled<Void>?
    /// Pings since something came.
    private var unanswered = 0
    private var isClosing = false

    init(_ hub: LiveHub, from address: SocketAddress?) {
        self.hub = hub
        self.address = address
        client = LiveText.Client(clientId: clientId, installationId: nil)
        session = LiveSession(subscriptionsMax: hub.access.settings.subscriptionsPerConnection)
        queue = LiveQueue(bytesMax: hub.access.settings.queueBytesMax)
    }

    // MARK: Life

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((socket: self, context: context), eventLoop: context.eventLoop)
        outlet.open(context.eventLoop) { bound.value.socket.drain(bound.value.context) }
        let interval = TimeAmount.seconds(Int64(hub.access.settings.pingSeconds))
        clock = context.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
            bound.value.socket.ping(bound.value.context)
        }
        limit = context.eventLoop.scheduleTask(in: Self.connectSeconds) {
            let (socket, context) = bound.value
            if !socket.session.isConnected { socket.close(context, .policyViolation) }
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { leave() }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    private func leave() {
        guard let clock else { return }
        clock.cancel()
        self.clock = nil
        limit?.cancel()
        outlet.close()
        session.closed()
        queue.removeAll()
        count()
        hub.end(Array(subscriptions.values))
        subscriptions = [:]
        hub.leave()
    }

    private func ping(_ context: ChannelHandlerContext) {
        guard !isClosing else { return }
        guard unanswered < 2 else { return context.close(promise: nil) }
        unanswered += 1
        send(.ping, ByteBuffer(), context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent: close(context, .goingAway)
        // Half a connection is none: nobody could be asked whether he is still there.
        case ChannelEvent.inputClosed: context.close(promise: nil)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case NIOWebSocketError.invalidFrameLength, NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge:
            close(context, .messageTooLarge)
        case is NIOWebSocketError, is NIOWebSocketFrameAggregator.Error: close(context, .protocolError)
        default: context.close(promise: nil)
        }
    }

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        unanswered = 0
        guard !isClosing else { return }
        // RFC 6455, section 5.1. A message in several frames was unmasked when it was put together.
        switch frame.opcode {
        case .text:
            let text = Array(frame.unmaskedData.readableBytesView)
            // RFC 6455, section 8.1.
            guard String(validating: text, as: UTF8.self) != nil else {
                return close(context, .dataInconsistentWithMessage)
            }
            received(text, context)
        case .binary: close(context, .unacceptableData)
        // One that sends pings and takes nothing would fill the memory with their answers. The last one is enough (RFC
        // 6455, section 5.5.3), and ours tell whether it is there.
        case .ping where context.channel.isWritable:
            send(.pong, frame.unmaskedData, context)
        case .ping: break
        case .connectionClose: close(context, .normalClosure)
        case .pong: break
        default: close(context, .protocolError)
        }
    }

    private func received(_ text: [UInt8], _ context: ChannelHandlerContext) {
        guard let action = session.received(text, now: Int64(clamping: NIODeadline.now().uptimeNanoseconds)) else {
            return
        }
        switch action {
        case .connect(let connect): self.connect(connect, context)
        case .subscribe(let subscribing): subscribe(subscribing)
        case .unsubscribe(let requestId):
            hub.end([subscriptions.removeValue(forKey: requestId)].compactMap(\.self))
            tell(LiveText.unsubscribed(requestId, client), context)
        case .refuse(let problem): tell(LiveText.problem(problem), context)
        case .end(let problem): end(problem, context)
        }
    }

    private func connect(_ connect: LiveConnect, _ context: ChannelHandlerContext) {
        let principal: Principal
        do throws(LiveProblem) {
            principal = try hub.access.admit(connect, from: address)
        } catch {
            return end(error, context)
        }
        let credentials = connect.credentials
        admitted = (principal, credentials)
        client = LiveText.Client(clientId: clientId, installationId: connect.installationId)
        limit?.cancel()
        guard !hub.areConnectionsFree else { return connected(context) }
        let bound = NIOLoopBound((socket: self, context: context), eventLoop: context.eventLoop)
        let loop = context.eventLoop
        Task { [hub, address] in
            var problem: LiveProblem?
            do throws(ParseError) {
                try await hub.mayConnect(principal, credentials, from: address)
            } catch {
                problem = LiveProblem(error, requestId: nil)
            }
            loop.execute { [problem] in bound.value.socket.decided(problem, bound.value.context) }
        }
    }

    /// Cloud code has had its say about the connection, which may be gone by now.
    private func decided(_ problem: LiveProblem?, _ context: ChannelHandlerContext) {
        guard clock != nil, !isClosing else { return }
        if let problem { return end(problem, context) }
        connected(context)
    }

    private func connected(_ context: ChannelHandlerContext) {
        session.connected()
        tell(LiveText.connected(client), context)
    }

    private func subscribe(_ subscribing: LiveSubscribing) {
        guard let admitted else { return }
        if let former = subscriptions.removeValue(forKey: subscribing.requestId) { hub.end([former]) }
        var credentials = admitted.credentials
        if let token = subscribing.sessionToken { credentials.sessionToken = token }
        let subscription = LiveSubscription(
            requestId: subscribing.requestId, wish: subscribing.wish, admitted: admitted.principal,
            credentials: credentials, from: address, sink: outlet)
        subscriptions[subscribing.requestId] = subscription
        Task { [hub, outlet] in
            do throws(ParseError) {
                try await hub.subscribe(subscription, after: subscribing.cursor)
            } catch {
                let problem = LiveProblem(error, requestId: subscription.requestId)
                outlet.deliver([(subscription, .ended(problem))])
            }
        }
    }

    // MARK: Out

    private func drain(_ context: ChannelHandlerContext) {
        for (subscription, message) in outlet.take() {
            // What was told before the client unsubscribed is not told after it.
            guard !isClosing, subscriptions[subscription.requestId] === subscription else { continue }
            switch message {
            case .subscribed(let cursor, let missed):
                tell(LiveText.subscribed(subscription.requestId, cursor, missed: missed, client), context)
            case .event(let event):
                tell(LiveText.event(event, subscription.requestId, client), context, flushes: false)
            case .refused(var problem, _):
                problem.requestId = subscription.requestId
                tell(LiveText.problem(problem), context)
            case .ended(var problem):
                subscriptions[subscription.requestId] = nil
                session.ended(subscription.requestId)
                problem.requestId = subscription.requestId
                tell(LiveText.problem(problem), context)
                // SDKs come back by themselves, with all of their subscriptions.
                if problem.reconnects { close(context, .tryAgainLater) }
            }
        }
        // It may be gone by then.
        if clock != nil { context.flush() }
        if outlet.isStopped { close(context, .goingAway) }
    }

    /// Sends a text, behind those that wait for a slow client.
    /// - Parameter flushes: false when the caller does it, after the last of several.
    private func tell(_ text: consuming ByteBuffer, _ context: ChannelHandlerContext, flushes: Bool = true) {
        guard !isClosing else { return }
        // What the caller would flush may be all that is in the way.
        if queue.isEmpty, !flushes, !context.channel.isWritable { context.flush() }
        guard clock != nil else { return }
        if queue.isEmpty, context.channel.isWritable {
            send(.text, text, context)
            if flushes { context.flush() }
            return
        }
        let bytes = text.readableBytes
        guard queue.append(text, bytes: bytes) else { return endSlow(context) }
        sendWaiting(context)
        if !count(), !queue.isEmpty { endSlow(context) }
    }

    private func endSlow(_ context: ChannelHandlerContext) {
        queue.removeAll()
        count()
        end(
            LiveProblem(155, "The connection is too slow for its events. Connect again.", reconnects: true), context)
    }

    /// Counts what waits among what waits for all.
    /// - Returns: whether there is room for it.
    @discardableResult
    private func count() -> Bool {
        defer { counted = queue.bytes }
        return hub.backlog.add(queue.bytes - counted)
    }

    private func sendWaiting(_ context: ChannelHandlerContext) {
        var hasSent = false
        while context.channel.isWritable, let text = queue.next() {
            send(.text, text, context)
            hasSent = true
        }
        if hasSent { context.flush() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        sendWaiting(context)
        count()
        context.fireChannelWritabilityChanged()
    }

    private func send(_ opcode: WebSocketOpcode, _ content: consuming ByteBuffer, _ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(LiveFrame.bytes(opcode, content)), promise: nil)
        if opcode != .text { context.flush() }
    }

    /// Tells why, and closes.
    private func end(_ problem: LiveProblem, _ context: ChannelHandlerContext) {
        guard !isClosing else { return }
        send(.text, LiveText.problem(problem), context)
        close(context, problem.reconnects ? .tryAgainLater : .policyViolation)
    }

    private func close(_ context: ChannelHandlerContext, _ code: WebSocketErrorCode) {
        guard !isClosing else { return }
        isClosing = true
        session.closed()
        queue.removeAll()
        count()
        hub.end(Array(subscriptions.values))
        subscriptions = [:]
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        let frame = LiveFrame.bytes(.connectionClose, data)
        // A client that goes on sending and takes nothing would keep its place.
        limit?.cancel()
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        limit = context.eventLoop.scheduleTask(in: Self.closeSeconds) { bound.value.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(frame)).assumeIsolated().whenComplete { _ in context.close(promise: nil) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.ioOnClosedChannel)
    }
}

extension WebSocketErrorCode {
    /// 1013 (registered at IANA): the server cannot go on now.
    fileprivate static let tryAgainLater = WebSocketErrorCode(codeNumber: 1013)
}

/// The way from the hub to a connection's event loop.
final class LiveOutlet: LiveSink {
    private struct State {
        var messages: [(subscription: LiveSubscription, message: LiveMessage)] = []
        var loop: (any EventLoop)?
        var wake: (@Sendable () -> Void)?
        var isStopped = false
    }

    private let state = Mutex(State())

    /// - Parameter wake: called on the loop when there is something to take.
    func open(_ loop: any EventLoop, wake: @escaping @Sendable () -> Void) {
        state.withLock {
            $0.loop = loop
            $0.wake = wake
        }
    }

    func close() { state.withLock { $0 = State() } }

    var isStopped: Bool { state.withLock { $0.isStopped } }

    func deliver(_ messages: LiveRegister.Told.SubSequence) {
        state.withLock { state in
            guard let loop = state.loop, let wake = state.wake else { return }
            let isAwake = !state.messages.isEmpty
            state.messages += messages
            if !isAwake { loop.execute(wake) }
        }
    }

    func take() -> [(subscription: LiveSubscription, message: LiveMessage)] {
        state.withLock { state in
            defer { state.messages = [] }
            return state.messages
        }
    }

    func stop() {
        state.withLock { state in
            state.isStopped = true
            if let loop = state.loop, let wake = state.wake { loop.execute(wake) }
        }
    }
}
