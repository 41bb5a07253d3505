import HTTPTypes
import Logging
import MessageBus
import Messages
import ParseProtocol
import ProcessKit
import Synchronization

extension GatewayConfiguration {
    /// Whether this gateway's own pages may connect. A browser logs a refused connection as an error.
    var offersLiveQueriesToPages: Bool { live.isOn && admission.origins.admits(WebOrigin.of(publicURL)) }
}

/// The pages for browsers: the dashboard at `/dashboard`, the page for app developers at `/developers`, and a start
/// page at `/`. They are outside the mount and need no key.
///
/// `web` has their files. The gateway fetches all of them at once and keeps them until another process of `web` joins,
/// which may run another build. While `web` is away the gateway goes on serving the files that it has.
final class WebSite: Sendable {
    private struct State {
        var files: SiteFiles?
        /// The names of the processes of `web`, as the broker knows them.
        var replicas: [String] = []
        /// Counts changes of `replicas`.
        var changes = 0
        /// `changes` when `files` were requested.
        var changesOfFiles = 0
        /// The running request to `web`.
        var fetch: Task<Void, Never>?

        /// Nil when the files have to be fetched first.
        var current: SiteFiles? { changes == changesOfFiles || replicas.isEmpty ? files : nil }
    }

    private let state = Mutex(State())
    private let request: WebSiteRequest
    /// The first components of the paths that are served.
    private let folders: Set<Substring>
    /// The headers of all responses to clients without an origin.
    private let fields: HTTPFields
    private let logger: Logger

    /// The first components of the paths of the dashboard and the developers' page.
    static let folders: [Substring] = ["dashboard", "developers"]
    /// The first component of the paths of the storefront's files.
    private static let shopFolder: Substring = "shop"
    /// The first component of the paths of elements for pages of any site.
    private static let elementsFolder: Substring = "components"
    /// The time to wait for the files.
    private static let fetchMax = Duration.seconds(3)

    init(_ configuration: GatewayConfiguration, logger: Logger) {
        let origins = configuration.admission.origins
        request = WebSiteRequest.with {
            $0.url = configuration.publicURL
            $0.mount = "/" + configuration.mount.joined(separator: "/")
            $0.applicationID = configuration.applicationId
            // Made for pages, which every client can read. The keys of other clients are not included.
            $0.clientKey = configuration.clientKeys[.javascript] ?? ""
            // Examples have a place for each configured key. The keys themselves are not included.
            $0.keyKinds = GatewayConfiguration.ClientKey.allCases.filter { configuration.clientKeys[$0] != nil }
                .map { "\($0)" }
            $0.offersLiveQueries = configuration.offersLiveQueriesToPages
        }
        // A mount of such a name occupies the path.
        let elements: [Substring] =
            configuration.mount.first == Self.elementsFolder ? [] : [Self.elementsFolder]
        folders = Set(
            (configuration.servesDashboard ? Self.folders : [])
                + (configuration.servesStorefront ? [Self.shopFolder] : []) + elements)
        fields = ResponseWriter.headers(origin: nil, origins)
        self.logger = logger
    }

    /// The processes of services have changed. Called on the broker's thread.
    func servicesChanged(_ states: [String: Broker.ServiceState]) {
        let replicas = states[WebCalls.site.service]?.replicas ?? []
        state.withLock { state in
            guard state.replicas != replicas else { return }
            state.replicas = replicas
            state.changes += 1
        }
    }

    /// Whether paths that begin with a component may be those of pages or their files.
    static func mayBeFolder(_ first: Substring) -> Bool {
        folders.contains(first) || first == shopFolder || StorefrontController.folders.contains(first)
    }

    /// Whether a request is for a page or a file of it.
    func isMeant(by request: ParseRequest) -> Bool {
        guard request.method == .get else { return false }
        if let first = request.path.first { return folders.contains(first) }
        guard folders.contains(Self.folders[0]) else { return false }
        // Clients that probe `/` without accepting HTML get the router's response.
        return AcceptedTypes.allowHTML(in: request.headers[.accept])
    }

    /// The files with encoded heads, for the event loop; nil when the files have to be fetched first.
    var ready: ReadyFiles? { state.withLock { $0.current?.ready } }

    /// The response from memory; nil when the files have to be fetched first.
    func answer(_ request: ParseRequest) -> ParseResponse? {
        let (files, isAway) = state.withLock { ($0.current, $0.replicas.isEmpty) }
        return files?.answer(path: request.path, headers: request.headers) ?? (isAway ? .unavailablePage : nil)
    }

    /// The response after the files were fetched, or from older files when that failed.
    func fetchedAnswer(_ request: ParseRequest, from broker: Broker) async -> ParseResponse {
        await fetch(from: broker).value
        let files = state.withLock { $0.files }
        return files?.answer(path: request.path, headers: request.headers) ?? .unavailablePage
    }

    /// The running request to `web`, or a new one. All page requests of that moment wait for it.
    private func fetch(from broker: Broker) -> Task<Void, Never> {
        state.withLock { state in
            if let running = state.fetch { return running }
            let changes = state.changes
            // Detached: the memory and the budget are not those of the first page request.
            let task = Task.detached { [self] in
                let files = await self.files(from: broker)
                self.state.withLock { state in
                    state.fetch = nil
                    guard let files else { return }
                    state.files = files
                    state.changesOfFiles = changes
                }
            }
            state.fetch = task
            return task
        }
    }

    /// Nil when `web` does not reply.
    private func files(from broker: Broker) async -> SiteFiles? {
        do {
            let reply = try await broker.call(BusRequest(WebCalls.site, request, timeout: Self.fetchMax))
            return SiteFiles(try WebSiteReply(serializedBytes: reply.body), in: folders, fields: fields)
        } catch {
            logger.warning("The pages could not be fetched.", metadata: ["problem": "\(error)"])
            return nil
        }
    }
}

/// All files of the pages, in memory.
private struct SiteFiles: Sendable {
    /// By path, as browsers request it; `/` is the start page.
    private let files: [String: SiteFile]
    let ready: ReadyFiles

    private static let assets = "assets"

    /// - Parameters:
    ///   - folders: the first components of the paths that are served.
    ///   - fields: the headers of all responses to clients without an origin.
    init(_ reply: WebSiteReply, in folders: Set<Substring>, fields: HTTPFields) {
        files = reply.files.reduce(into: [:]) { files, entry in
            let file = SiteFile(entry)
            for path in entry.paths where path == "/" || folders.contains(path.split(separator: "/")[0]) {
                files[path] = file
            }
        }
        // A request for `/` also depends on what the client accepts.
        ready = ReadyFiles(files.filter { $0.key != "/" }, fields: fields)
    }

    /// A path below a page that names no file is a view of the page, which the page itself resolves.
    func answer(path: [Substring], headers: HTTPFields) -> ParseResponse {
        let rest = path.dropFirst()
        let isView = rest.first != Self.assets[...] && rest.last?.contains(".") != true
        let found = files["/" + path.joined(separator: "/")] ?? (isView ? files["/\(path.first ?? "")"] : nil)
        return found?.answer(to: headers) ?? Self.missing
    }

    /// Never cached: during an upgrade the file may exist a moment later.
    private static let missing: ParseResponse = {
        var response = ParseResponse(status: 404, ParseRouter.noRoute.body)
        response.headers[.cacheControl] = "no-store"
        return response
    }()
}
