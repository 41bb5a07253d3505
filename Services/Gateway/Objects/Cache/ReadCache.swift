import MessageBus
import Messages
import ParseProtocol
import Synchronization

/// The gateway's cache of responses that every caller of the same kind gets, and of each session's own account.
///
/// An entry is used only while the board of its service (`ChangeBoard`) shows that none of its data was changed since
/// its read began, and that no change is in progress. A read at the service would then return the same.
/// docs/internals/architecture.md has the argument. Pages of the storefront for visitors without a session are kept in
/// the same memory, as long as this is true for each of their reads.
final class ReadCache: Sendable {
    private typealias Reads = CachedReads<FinalBody, Origin>

    /// What a cached body was made from.
    fileprivate enum Origin: Sendable {
        case read(ChangeStamp)
        case page([PageRead])
    }

    /// One of the reads that a page was made from.
    struct PageRead: Sendable {
        let className: String
        fileprivate let stamp: ChangeStamp
        /// Nothing that it read has changed since.
        var isCurrent: Bool { stamp.isCurrent }
    }

    /// A cache miss. The service's response may be stored under this key and stamp.
    struct Missing: Sendable {
        fileprivate let key: CachedReads<FinalBody, Origin>.Key
        fileprivate let stamp: ChangeStamp
        fileprivate let isSignedIn: Bool
    }

    /// The result of a look-up.
    enum Look: Sendable {
        case found(ParseResponse)
        case missing(Missing)
        /// The request is not cacheable.
        case unfit

        var miss: Missing? { if case .missing(let missing) = self { missing } else { nil } }
    }

    /// The memory of responses larger than `CapacitySettings.smallBytes` is counted until they are sent (`ReplyHold`),
    /// but cached responses are not counted. A response of that size may take twice as many bytes, and as many again
    /// for its compressed form.
    private static let entryBytesMax = 3 * CapacitySettings.smallBytes + 2 * questionBytesMax + Reads.entryOverhead
    /// A longer query is usually a list that one client built and that is not repeated. Comparing it would take time
    /// that no budget covers.
    private static let questionBytesMax = 8 << 10

    private let reads: Mutex<Reads>
    /// The current boards by service.
    private let boards = Mutex<[String: ChangeBoard]>([:])
    private let renderers = Mutex(PageRenderers())
    private let dataDirectory: String
    private let links: FileLinks

    /// - Returns: nil when no memory is configured for the cache.
    init?(_ configuration: GatewayConfiguration) {
        guard configuration.readCacheBytes > 0 else { return nil }
        reads = Mutex(Reads(bytesMax: configuration.readCacheBytes, entryBytesMax: Self.entryBytesMax))
        dataDirectory = configuration.start.dataDirectory
        links = configuration.fileLinks
    }

    /// Counters for the operator.
    var counts: JSON { reads.withLock { $0.counts.json } }

    /// Opens the boards of the current services. The broker's thread calls it when a process joins or leaves; opening a
    /// small file does not block it.
    func servicesChanged(_ states: [String: Broker.ServiceState]) {
        boards.withLock { boards in
            for (service, board) in boards where states[service]?.board != board.identity {
                board.invalidateStamps()
                boards[service] = nil
            }
            for (service, state) in states where state.board != 0 && boards[service] == nil {
                let path = ChangeBoard.path(beside: "\(dataDirectory)/\(service).sqlite")
                boards[service] = ChangeBoard.find(path, identity: state.board)
            }
        }
        renderers.withLock { $0.changed(to: states[WebCalls.shop.service]?.replicas ?? []) }
    }

    /// The version of a part of a service's database; nil during a change, and for a service without a board.
    func stamp(of subject: ChangeSubject, in service: String) -> ChangeStamp? {
        boards.withLock { $0[service] }?.stamp(of: subject)
    }

    // MARK: Look-up

    /// Looks up the response to a get or, without an id, to a query.
    func look(
        _ className: String, _ objectId: String?, _ request: ParseRequest, _ principal: Principal
    ) -> Look {
        guard Self.mayTakePart(className, request, principal) else { return .unfit }
        let key = Reads.Key(
            isMaster: principal.master, className: className, objectId: objectId, options: Self.options(of: request))
        let isSignedIn = !principal.master && !principal.userID.isEmpty
        return look(key, className, objectId, isSignedIn: isSignedIn, isAlike: true)
    }

    /// - Parameter objectId: nil for a query.
    private func look(
        _ key: Reads.Key, _ className: String, _ objectId: String?, isSignedIn: Bool, isAlike: Bool
    ) -> Look {
        let found = reads.withLock { reads in
            reads.find(key, isSignedIn: isSignedIn, now: BusClock.now) { origin in
                if case .read(let stamp) = origin { stamp.isCurrent } else { false }
            }
        }
        if let found {
            var response = ParseResponse(found)
            response.isAlike = isAlike
            return .found(response)
        }
        let subject =
            objectId.map { ChangeSubject.object(ofClass: className, id: $0) } ?? .page(ofClass: className)
        guard let stamp = stamp(of: subject, in: ServiceDirectory.service(ofClass: className)) else { return .unfit }
        return .missing(Missing(key: key, stamp: stamp, isSignedIn: isSignedIn))
    }

    /// Excludes requests of a batch, whose responses are joined, and privileged keys other than the master key, because
    /// each has separate rules.
    private static func mayTakePart(
        _ className: String, _ request: ParseRequest, _ principal: Principal
    ) -> Bool {
        guard request.method == .get, !request.isInBatch, className.utf8.first != UInt8(ascii: "_"),
            !principal.readOnly, !principal.maintenance,
            request.body.count + (request.query?.utf8.count ?? 0) <= questionBytesMax
        else { return false }
        guard let scope = request.hooks else { return true }
        // Without a cached table of hooks, every class may have one.
        guard let table = scope.registry.cached else { return false }
        return !table.has(HookedRead.triggers, className)
    }

    /// The options in the client's form, from the query, the body or both.
    private static func options(of request: ParseRequest) -> [UInt8] {
        let query = Array((request.query ?? "").utf8)
        if request.body.isEmpty, request.tunnelled == nil { return query }
        // A query string has no line break.
        return query + Array("\n\(request.isForm)\n".utf8) + request.document
    }

    // MARK: Storing

    /// The response to a missed read. It is stored when the service reported that other callers get the same.
    func answer(_ document: [UInt8], to missing: Missing, alike: Bool, everybody: Bool) -> ParseResponse {
        // The response to a user is stored only when every caller gets the same.
        guard alike, everybody || !missing.isSignedIn, document.count <= CapacitySettings.smallBytes else {
            var response = ParseResponse(body: document)
            response.isAlike = alike
            return response
        }
        let body = FinalBody(links.linked(document), isCached: true)
        if missing.stamp.isCurrent, body.buffer.readableBytes <= CapacitySettings.smallBytes {
            reads.withLock {
                $0.keep(
                    body, for: missing.key, bytes: body.bytesTaken, stamp: .read(missing.stamp),
                    isForEverybody: everybody, now: BusClock.now)
            }
        }
        var response = ParseResponse(body)
        response.isAlike = true
        return response
    }

    // MARK: The own account

    /// Looks up the response to `GET /users/me`.
    ///
    /// It depends on the session, the caller's roles, the user's object and the permissions of its class. The gateway
    /// knows the session and the roles (`SessionCache`), and `users` counts the end of a session as a change of the
    /// user's object (`Sessions.noteChange`).
    func lookAccount(_ request: ParseRequest, _ principal: Principal) -> Look {
        guard request.method == .get, !request.isInBatch, !principal.sessionToken.isEmpty, !principal.userID.isEmpty
        else { return .unfit }
        var session = Array(principal.sessionToken.utf8)
        // No name of a role has a line break.
        for role in principal.roles { session += "\n\(role)".utf8 }
        guard session.count <= Self.questionBytesMax else { return .unfit }
        let key = Reads.Key(
            isMaster: false, className: Self.accountClass, objectId: principal.userID, options: session)
        return look(key, Self.accountClass, principal.userID, isSignedIn: true, isAlike: false)
    }

    /// `look` takes no class of this kind.
    private static let accountClass = "_User"

    /// The response to a missed `GET /users/me`.
    func answer(account document: [UInt8], to missing: Missing) -> ParseResponse {
        // No other caller has the key.
        var response = answer(document, to: missing, alike: true, everybody: true)
        response.isAlike = false
        return response
    }

    // MARK: Pages

    /// The edition of the pages that are rendered from now on.
    var edition: Int { renderers.withLock { $0.edition } }

    /// A read for a page, which begins after this; nil when its data is being changed, or cannot be observed.
    /// - Parameter objectId: nil for a query.
    func pageRead(_ className: String, _ objectId: String?) -> PageRead? {
        let subject =
            objectId.map { ChangeSubject.object(ofClass: className, id: $0) } ?? .page(ofClass: className)
        return stamp(of: subject, in: ServiceDirectory.service(ofClass: className)).map {
            PageRead(className: className, stamp: $0)
        }
    }

    /// The cached page of an address. None of its reads may have changed, nor have got a trigger.
    func page(_ key: [UInt8], _ hooks: HookTable) -> FinalBody? {
        reads.withLock { reads in
            reads.find(Self.pageKey(key), isSignedIn: false, now: BusClock.now) { origin in
                guard case .page(let parts) = origin else { return false }
                return parts.allSatisfy { $0.stamp.isCurrent && !hooks.has(HookedRead.triggers, $0.className) }
            }
        }
    }

    /// Keeps a page for visitors without a session.
    /// - Parameter parts: every read that it was made from. All of them had a response that every visitor gets.
    func keep(_ page: FinalBody, _ key: [UInt8], madeFrom parts: [PageRead]) {
        guard page.buffer.readableBytes <= CapacitySettings.smallBytes, parts.allSatisfy(\.stamp.isCurrent) else {
            return
        }
        reads.withLock {
            $0.keep(
                page, for: Self.pageKey(key), bytes: page.bytesTaken, stamp: .page(parts), isForEverybody: false,
                now: BusClock.now)
        }
    }

    /// No class has an empty name.
    private static func pageKey(_ key: [UInt8]) -> Reads.Key {
        Reads.Key(isMaster: false, className: "", objectId: nil, options: key)
    }
}
