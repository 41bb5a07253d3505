import MessageBus
import Messages
import ParseProtocol
import Synchronization

/// The gateway's copies of answers that any caller of the same kind would get at this moment.
///
/// An answer is given from here only while the board of its service (`ChangeBoard`) says that nothing it shows was
/// changed since the read that brought it began, and nothing is being changed: then a read of the service would bring
/// the same. docs/architecture.md has the argument.
final class ReadCache: Sendable {
    private typealias Reads = CachedReads<FinalBody, ChangeStamp>

    /// A read that a service must answer, and whose answer may be kept.
    struct Missing: Sendable {
        fileprivate let key: CachedReads<FinalBody, ChangeStamp>.Key
        fileprivate let stamp: ChangeStamp
        fileprivate let isSignedIn: Bool
    }

    /// The outcome of looking for an answer.
    enum Look: Sendable {
        case found(ParseResponse)
        case missing(Missing)
        /// The cache has no part in it.
        case unfit
    }

    /// Answers of more than `CapacitySettings.smallBytes` are counted on their way to the client (`AnswerHold`), which
    /// those from here are not. One of so many bytes may take twice as many.
    private static let entryBytesMax = 2 * CapacitySettings.smallBytes + 2 * questionBytesMax + Reads.entryOverhead
    /// A longer question is a list that somebody made up, which nobody repeats; to compare it would take time that is
    /// on nobody's account.
    private static let questionBytesMax = 8 << 10

    private let reads: Mutex<Reads>
    /// The boards of the services that have one now.
    private let boards = Mutex<[String: ChangeBoard]>([:])
    private let dataDirectory: String
    private let links: FileLinks

    /// - Returns: nil for a cache without room, which is none.
    init?(_ configuration: GatewayConfiguration) {
        guard configuration.readCacheBytes > 0 else { return nil }
        reads = Mutex(Reads(bytesMax: configuration.readCacheBytes, entryBytesMax: Self.entryBytesMax))
        dataDirectory = configuration.start.dataDirectory
        links = configuration.fileLinks
    }

    /// What the operator sees of it.
    var counts: JSON { reads.withLock { $0.counts.json } }

    /// Takes the boards of the services that are there. Called on the broker's thread when they change, which is when a
    /// process begins or ends: opening a small file then is no wait.
    func servicesChanged(_ states: [String: Broker.ServiceState]) {
        boards.withLock { boards in
            for (service, board) in boards where states[service]?.board != board.identity {
                board.forsake()
                boards[service] = nil
            }
            for (service, state) in states where state.board != 0 && boards[service] == nil {
                let path = ChangeBoard.path(beside: "\(dataDirectory)/\(service).sqlite")
                boards[service] = ChangeBoard.find(path, identity: state.board)
            }
        }
    }

    /// A part of a service's database as it is now; nil while it is being changed, and for a service without a board.
    func stamp(of subject: ChangeSubject, in service: String) -> ChangeStamp? {
        boards.withLock { $0[service] }?.stamp(of: subject)
    }

    // MARK: Looking

    /// Looks for the answer to a get or, without an id, to a query.
    func look(
        _ className: String, _ objectId: String?, _ request: ParseRequest, _ principal: Principal
    ) -> Look {
        guard Self.mayTakePart(className, request, principal) else { return .unfit }
        let key = Reads.Key(
            isMaster: principal.master, className: className, objectId: objectId, options: Self.options(of: request))
        let isSignedIn = !principal.master && !principal.userID.isEmpty
        let found = reads.withLock { $0.find(key, isSignedIn: isSignedIn, now: BusClock.now) { $0.isCurrent } }
        if let found { return .found(ParseResponse(found)) }
        let subject =
            objectId.map { ChangeSubject.object(ofClass: className, id: $0) } ?? .page(ofClass: className)
        guard let stamp = stamp(of: subject, in: ServiceDirectory.service(ofClass: className)) else { return .unfit }
        return .missing(Missing(key: key, stamp: stamp, isSignedIn: isSignedIn))
    }

    /// Requests of a batch are answered as one text, and of the keys beside the master key each has rules of its own.
    private static func mayTakePart(
        _ className: String, _ request: ParseRequest, _ principal: Principal
    ) -> Bool {
        guard request.method == .get, !request.isInBatch, className.utf8.first != UInt8(ascii: "_"),
            !principal.readOnly, !principal.maintenance,
            request.body.count + (request.query?.utf8.count ?? 0) <= questionBytesMax
        else { return false }
        guard let scope = request.hooks else { return true }
        // As long as nobody knows which webhooks there are, each class may have one.
        guard let table = scope.registry.known else { return false }
        return !table.has(HookedRead.triggers, className)
    }

    /// The options as they came, in the query, in a body or in both.
    private static func options(of request: ParseRequest) -> [UInt8] {
        let query = Array((request.query ?? "").utf8)
        if request.body.isEmpty, request.tunnelled == nil { return query }
        // No query string has a line break in it.
        return query + Array("\n\(request.isForm)\n".utf8) + request.document
    }

    // MARK: Keeping

    /// The answer to a read that was missing: kept, when a service said that others would get the same.
    func answer(_ document: [UInt8], to missing: Missing, alike: Bool, everybody: Bool) -> ParseResponse {
        // A user's answer is kept only where it is everybody's.
        guard alike, everybody || !missing.isSignedIn, document.count <= CapacitySettings.smallBytes else {
            return ParseResponse(body: document)
        }
        let body = FinalBody(links.linked(document))
        if missing.stamp.isCurrent, body.buffer.readableBytes <= CapacitySettings.smallBytes {
            reads.withLock {
                $0.keep(
                    body, for: missing.key, bytes: body.bytesTaken, stamp: missing.stamp,
                    isForEverybody: everybody, now: BusClock.now)
            }
        }
        return ParseResponse(body)
    }
}
