import MessageBus
import Messages
import NIOCore
import NIOWebSocket
import ParseProtocol

/// One WebSocket of a client, on its event loop. It turns frames into messages of `LiveSession`, and the hub's messages
/// into frames.
///
/// Its handlers precede the HTTP handlers, which remain in the channel and only see the connection's end.
final class LiveSocket: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    /// Writes of the HTTP handlers; they are discarded.
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The time in which a client has to send `connect`.
    private static let connectSeconds = TimeAmount.seconds(10)
    /// The time in which a client has to read the last messages and the close frame, as in `ConnectionGuard`.
    private static let closeSeconds = TimeAmount.seconds(5)

    private let hub: LiveHub
    private let address: SocketAddress?
    private let outlet = LiveSocketSink()
    private let clientId = Names.random(32)
    private var client: LiveText.Client
    private var session: LiveSession
    private var inbox = LiveInbox()
    /// The channel requested a read while a message waited to be decoded.
    private var wantsMore = false
    private var queue: LiveQueue<ByteBuffer>
    /// Bytes of the queue that are included in the common backlog.
    private var counted = 0
    private var subscriptions: [Int64: LiveSubscription] = [:]
    private var admitted: (principal: Principal, credentials: Credentials)?
    private var clock: RepeatedTask?
    /// Closes the connection when the pending step, connect or close, takes too long.
    private var limit: Scheduled<Void>?
    /// Pings since the client last sent something.
    private var unanswered = 0
    private var isClosing = false

    init(_ hub: LiveHub, from address: SocketAddress?) {
        self.hub = hub
        self.address = address
        client = LiveText.Client(clientId: clientId, installationId: nil)
        session = LiveSession(subscriptionsMax: hub.access.settings.subscriptionsPerConnection)
        queue = LiveQueue(bytesMax: hub.access.settings.queueBytesMax)
    }

    // MARK: Lifecycle

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
        inbox.removeAll()
        queue.removeAll()
        count()
        hub.end(Array(subscriptions.values))
        subscriptions = [:]
        hub.leave()
    }

    private func ping(_ context: ChannelHandlerContext) {
        // While a message waits to be decoded, the socket is not read, so a pong cannot be seen.
        guard !isClosing, !inbox.isBusy else { return }
        guard unanswered < 2 else { return context.close(promise: nil) }
        unanswered += 1
        send(.ping, ByteBuffer(), context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent: close(context, .goingAway)
        // A half-closed connection is closed: pings would get no reply on it.
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

    // MARK: Incoming

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        unanswered = 0
        guard !isClosing else { return }
        // RFC 6455, section 5.1. A message in several frames was unmasked when it was joined.
        switch frame.opcode {
        case .text:
            let text = Array(frame.unmaskedData.readableBytesView)
            // RFC 6455, section 8.1.
            guard String(validating: text, as: UTF8.self) != nil else {
                return close(context, .dataInconsistentWithMessage)
            }
            received(text, context)
        case .binary: close(context, .unacceptableData)
        // A client that sends pings and reads nothing would fill the memory with pongs. Replying to the last ping is
        // enough (RFC 6455, section 5.5.3), and Satchel's pings show whether the client is alive.
        case .ping where context.channel.isWritable:
            send(.pong, frame.unmaskedData, context)
        case .ping: break
        case .connectionClose: close(context, .normalClosure)
        case .pong: break
        default: close(context, .protocolError)
        }
    }

    private func received(_ text: [UInt8], _ context: ChannelHandlerContext) {
        if let end = session.arrived(now: Int64(clamping: NIODeadline.now().uptimeNanoseconds)) {
            return perform(end, context)
        }
        inbox.append(text)
        decode(context)
    }

    private func decode(_ context: ChannelHandlerContext) {
        while !isClosing, let (text, isLarge) = inbox.next() {
            guard !isLarge else { return decodeInTurn(text, context) }
            perform(session.decoded(LiveRequest.decode(text)), context)
        }
    }

    /// Queues a large message for decoding off the event loop.
    private func decodeInTurn(_ text: [UInt8], _ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((socket: self, context: context), eventLoop: context.eventLoop)
        let loop = context.eventLoop
        let isOperator = admitted?.principal.isPrivileged ?? false
        Task { [decoder = hub.decoder, network = Network.clientNetwork(address)] in
            let request = await decoder.decode(text, from: network, isOperator: isOperator)
            loop.execute {
                let (socket, context) = bound.value
                socket.inbox.decoded()
                guard socket.clock != nil else { return }
                socket.perform(socket.session.decoded(request), context)
                socket.decode(context)
                guard !socket.inbox.isBusy, socket.wantsMore else { return }
                socket.wantsMore = false
                context.read()
            }
        }
    }

    func read(context: ChannelHandlerContext) {
        if inbox.isBusy { wantsMore = true } else { context.read() }
    }

    private func perform(_ action: LiveSession.Action?, _ context: ChannelHandlerContext) {
        guard let action else { return }
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
        guard !hub.needsNoConnectTrigger else { return connected(context) }
        let bound = NIOLoopBound((socket: self, context: context), eventLoop: context.eventLoop)
        let loop = context.eventLoop
        Task { [hub, address] in
            var problem: LiveProblem?
            do throws(ParseError) {
                try await hub.mayConnect(principal, credentials, from: address, in: CallContext())
            } catch {
                problem = LiveProblem(error, requestId: nil)
            }
            loop.execute { [problem] in bound.value.socket.decided(problem, bound.value.context) }
        }
    }

    /// Handles the result of cloud code for the connection, which may be closed by now.
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
            requestId: subscribing.requestId, query: subscribing.query, admitted: admitted.principal,
            credentials: credentials, from: address, sink: outlet)
        subscriptions[subscribing.requestId] = subscription
        Task { [hub, outlet] in
            do throws(ParseError) {
                try await hub.subscribe(subscription, after: subscribing.cursor, in: CallContext())
            } catch {
                outlet.deliver([(subscription, subscription.end(by: error))])
            }
        }
    }

    // MARK: Outgoing

    private func drain(_ context: ChannelHandlerContext) {
        for (subscription, message) in outlet.take() {
            // Events that the hub delivered before the client unsubscribed are dropped.
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
                // SDKs reconnect by themselves, with all of their subscriptions.
                if problem.reconnects { close(context, .tryAgainLater) }
            case .loggedOut:
                subscriptions[subscription.requestId] = nil
                session.ended(subscription.requestId)
                tell(LiveText.unsubscribed(subscription.requestId, client), context)
            }
        }
        // The connection may be closed by now.
        if clock != nil { context.flush() }
        if outlet.isStopped { close(context, .goingAway) }
    }

    /// Sends a text, after the texts that wait for a slow client.
    /// - Parameter flushes: false when the caller flushes after the last of several texts.
    private func tell(_ text: consuming ByteBuffer, _ context: ChannelHandlerContext, flushes: Bool = true) {
        guard !isClosing else { return }
        // The unflushed texts may be the reason why the channel is not writable.
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

    /// Updates the common backlog by the queue's bytes.
    /// - Returns: whether the backlog is within its limit.
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

    /// Sends the problem and closes.
    private func end(_ problem: LiveProblem, _ context: ChannelHandlerContext) {
        guard !isClosing else { return }
        send(.text, LiveText.problem(problem), context)
        close(context, problem.reconnects ? .tryAgainLater : .policyViolation)
    }

    private func close(_ context: ChannelHandlerContext, _ code: WebSocketErrorCode) {
        guard !isClosing else { return }
        isClosing = true
        session.closed()
        inbox.removeAll()
        queue.removeAll()
        count()
        hub.end(Array(subscriptions.values))
        subscriptions = [:]
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        let frame = LiveFrame.bytes(.connectionClose, data)
        // A client that keeps sending and reads nothing must not hold its slot.
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
    /// 1013 (registered at IANA): the server is temporarily unavailable.
    fileprivate static let tryAgainLater = WebSocketErrorCode(codeNumber: 1013)
}
