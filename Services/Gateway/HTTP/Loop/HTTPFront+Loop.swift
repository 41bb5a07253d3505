import HTTPTypes
import MessageBus
import NIOCore
import ParseProtocol

/// The requests that a connection's event loop answers.
extension HTTPFront {
    /// The largest body that an event loop sends: an object or a page of a shop. A task sends a larger one in parts
    /// (`PacedBody`).
    static let loopAnswerBytesMax = 256 << 10

    /// The longest URL whose condition an event loop decodes, which takes tens of microseconds. A task decodes longer
    /// ones.
    private static let urlBytesMax = 8 << 10

    /// Decides by its head whether the event loop may begin a request.
    /// - Returns: the announced size of its body, 0 for a read; nil when a task must answer.
    func loopBodyBytes(_ head: HTTPRequest) -> Int? {
        let isRead = head.method == .get
        guard isRead || head.method == .post || head.method == .put, let path = head.path,
            path.utf8.count <= Self.urlBytesMax,
            isObjectPath(path) || isRead && (isUploadPath(path) || mayBeCachedPage(path) || isStaticFile(path))
        else { return nil }
        var bodyBytes: Int?
        for field in head.headerFields {
            switch field.name {
            case .transferEncoding, .contentEncoding, .expect, .upgrade: return nil
            case .contentLength:
                guard !isRead, bodyBytes == nil, let count = Int(field.value), count > 0,
                    count <= min(BodyQueue.quickBytes, configuration.bodyBytesMax)
                else { return nil }
                bodyBytes = count
            case .connection: if field.value.lowercased() != "keep-alive" { return nil }
            default: break
            }
        }
        return isRead ? 0 : bodyBytes
    }

    /// Whether the path begins with `/parse/classes/`, `/parse/events/` or `/parse/users/me`, without percent escapes.
    private func isObjectPath(_ path: String) -> Bool {
        objectPaths.contains { path.utf8.starts(with: $0) }
    }

    /// Whether the path begins with `/parse/files/<application id>/`, without percent escapes.
    private func isUploadPath(_ path: String) -> Bool {
        filePaths.contains { path.utf8.starts(with: $0) }
    }

    /// Whether the path may belong to a storefront page in the cache.
    private func mayBeCachedPage(_ path: String) -> Bool {
        router.controllers.storefront != nil && PageAddress.mayBegin(path)
    }

    /// Whether the path is exactly the path of a static file of the web pages.
    private func isStaticFile(_ path: String) -> Bool { router.controllers.site?.ready?.isFile(path) ?? false }

    /// The response to a request for a file of the pages, counted and logged; nil for every other request.
    func file(for request: SmallRequest) -> OutgoingResponse? {
        let head = request.head
        guard let path = head.path, !isObjectPath(path),
            let (form, isNotModified) = router.controllers.site?.ready?.found(by: head),
            Self.isWithinHeaderLimits(head.headerFields)
        else { return nil }
        let requestId = RequestIds.next()
        countFile(isNotModified ? 304 : 200, to: head, path: path, requestId: requestId, since: request.start)
        return writer.outgoing(form.body, form.heads, requestId: requestId, isNotModified: isNotModified)
    }

    /// The traffic of an event loop with the broker. Called on the loop.
    func traffic(of loop: any EventLoop) -> LoopTraffic {
        traffic.of(loop, with: router.controllers.objects.services.broker)
    }

    /// Sends a message to a service. The machine keeps the request's budget, which a later task continues to use.
    /// - Parameter completion: called on the event loop of `traffic`.
    func ask(
        _ message: ServiceMessage, of exchange: inout RequestExchange, over traffic: LoopTraffic,
        completion: @escaping @Sendable (ServiceResult) -> Void
    ) {
        exchange.machine.setBudget(newBudget(for: exchange.machine.request))
        let (principal, context) = (exchange.machine.principal, exchange.machine.request.call)
        router.controllers.objects.services.ask(message, for: principal, in: context) { result in
            traffic.replied { completion(result) }
        }
        traffic.madeRequest()
    }
}
