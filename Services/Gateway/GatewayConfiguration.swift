import Cryptography
import Foundation
import MessageBus
import ParseProtocol
import ProcessKit

/// The gateway's settings from the environment; README's table lists them.
struct GatewayConfiguration: Sendable {
    /// `SATCHEL_REPLICA`: name of this process, `gateway-1` or another number.
    let replica: String
    let host: String
    let port: Int
    /// `SATCHEL_LISTEN`, a path of a unix socket, in place of host and port.
    let listenPath: String?
    /// `SATCHEL_DRAIN_MILLISECONDS`: the time for which a stopping gateway still serves after it has informed
    /// balancers.
    let drain: Duration
    /// The time between two rows of the figures' history; `SATCHEL_TEST_FIGURES_MILLISECONDS` is for tests.
    let figuresEvery: Duration
    /// Path components before the Parse routes; `["parse"]`. `/1` always works too.
    let mount: [Substring]
    /// Base of `Location` and file URLs, without a slash at the end.
    let publicURL: String
    /// Path components of `publicURL`, the mount included; a proxy may serve another path than the gateway.
    let publicPath: [Substring]
    let applicationId: String
    let masterKey: String
    let clientKeys: [ClientKey: String]
    /// Networks from which the master key is accepted.
    let masterKeyNetworks: [Network]
    /// Rights beyond the plain keys, and rate limits.
    let admission: AdmissionSettings
    /// Largest `limit` of a query; a larger one is cut to it.
    let limitMax: Int
    /// Largest `skip` of a query; a larger one is rejected, because the database reads every skipped row.
    let skipMax: Int
    /// Largest JSON body. A batch of 200 objects of usual size fits; the store limits a single object to 128 KB.
    let bodyBytesMax: Int
    /// Microseconds of processor time that one request may take in all services together; a batch is one request.
    let requestBudgetMicroseconds: Int64
    /// Bytes of cached responses to reads; 0 for no cache.
    let readCacheBytes: Int
    /// Bytes of cached files; 0 for no cache.
    let fileCacheBytes: Int
    /// Whether the dashboard and the other pages are served.
    let servesDashboard: Bool
    /// Whether the storefront is served.
    let servesStorefront: Bool
    /// Largest accepted file.
    let fileBytesMax: Int
    let capacity: CapacitySettings
    let live: LiveSettings
    /// The clients that may upload files.
    let fileUpload: FileUploadRight
    /// The accepted types of files.
    let fileTypes: FileTypes
    let fileLinks: FileLinks
    let fileSigner: FileSigner
    /// Settings of webhooks, cloud code, logs and purchases.
    let cloud: CloudSettings
    /// Nil without an old server that answers a share of the reads, too.
    let shadow: ShadowSettings?
    let bus: BusConfiguration
    let start: ProcessStart
    /// The settings as read, for operators.
    let settings: Settings
    /// Whether each request is logged.
    let logsRequests: Bool

    enum ClientKey: CaseIterable, Sendable {
        case rest, javascript, client, windows

        /// The variable that sets it.
        var setting: String { "SATCHEL_\("\(self)".uppercased())_KEY" }
    }

    /// - Throws: for an invalid setting, with a text that names it.
    init(_ settings: Settings = .environment) throws {
        self.settings = settings
        start = try ProcessStart(settings)
        try start.makeDataDirectory()
        let data = start.dataDirectory
        replica = settings.text("satchel.replica", default: "gateway-1")
        host = settings.text("satchel.host", default: "127.0.0.1")
        port = try settings.number("satchel.port", 1...65_535, default: 1337)
        listenPath = settings["satchel.listen"]
        guard listenPath.map({ $0.hasPrefix("/") && $0.utf8.count <= Self.socketPathBytesMax }) ?? true else {
            throw StartupProblem(
                "SATCHEL_LISTEN is the path of a unix socket: absolute, of at most \(Self.socketPathBytesMax) bytes.")
        }
        drain = .milliseconds(try settings.number("satchel.drain.milliseconds", 0...8000, default: 0))
        figuresEvery = .milliseconds(
            try settings.number("satchel.test.figures.milliseconds", 1...60_000, default: 60_000))
        mount = settings.text("satchel.mount", default: "/parse").split(separator: "/")
        publicURL = PublicURL { settings[$0] }.text
        publicPath = try ParseRequest.path(URLComponents(string: publicURL)?.percentEncodedPath ?? "")
        applicationId = settings.text("satchel.app.id", default: "satchel")
        masterKey = try settings["satchel.master.key"] ?? MasterKeyFile(path: data + "/master.key").key()
        clientKeys = [
            .rest: "satchel.rest.key", .javascript: "satchel.javascript.key", .client: "satchel.client.key",
            .windows: "satchel.windows.key",
        ].compactMapValues { settings[$0] }
        masterKeyNetworks = try Network.list(settings.text("satchel.master.key.ips", default: "127.0.0.0/8,::1"))
        admission = try AdmissionSettings(settings)
        try admission.checkKeys(
            master: masterKey,
            others: Dictionary(uniqueKeysWithValues: clientKeys.map { ($0.setting, $1) })
                .merging(["SATCHEL_APP_ID": applicationId]) { key, _ in key })
        limitMax = try settings.number("satchel.limit.max", 1...1_000_000, default: 1000)
        skipMax = try settings.number("satchel.skip.max", 0...1_000_000_000, default: 1_000_000)
        bodyBytesMax = try settings.number("satchel.body.bytes.max", Self.frameBytes, default: 8 << 20)
        let milliseconds = try settings.number("satchel.request.cpu.milliseconds", 100...60_000, default: 5000)
        requestBudgetMicroseconds = Int64(milliseconds) * 1000
        readCacheBytes = try settings.readCacheBytes()
        fileCacheBytes = try settings.number("satchel.file.cache", 0...16 << 30, default: 16 << 20)
        // A mount of such a name occupies the path.
        servesDashboard =
            try settings.flag("satchel.dashboard", default: true)
            && !mount.prefix(1).contains(where: WebSite.folders.contains)
        fileBytesMax = try settings.number("satchel.file.bytes.max", Self.frameBytes, default: 10 << 20)
        // Base64 makes a file in a JSON body longer by a third.
        capacity = try CapacitySettings(
            settings, largestBody: max(bodyBytesMax, fileBytesMax / 3 * 4 + BodyReader.tunnelBytesMax))
        live = try LiveSettings(settings, connections: capacity.connectionsMax)
        fileUpload = try settings.choice("satchel.file.upload", default: FileUploadRight.authenticated)
        fileTypes = try FileTypes(adding: settings.text("satchel.file.types", default: ""))
        fileLinks = FileLinks(publicURL: self.publicURL, applicationId: applicationId)
        let keyPath = settings.text("satchel.files.key.file", default: data + "/files.key")
        servesStorefront =
            try settings.flag("satchel.storefront", default: Self.isOfferedAStorefront(data, key: keyPath))
            && mount.first.map { !StorefrontController.folders.contains($0) } ?? false
        let filesKey = KeyFile(
            path: keyPath,
            record: KeyFile.memberRecord("files.key", in: data))
        let fileSeconds = try settings.number(
            "satchel.file.url.seconds", 1...Int(FileSigner.secondsMax), default: 3600)
        fileSigner = FileSigner(key: try filesKey.key(), seconds: Int64(fileSeconds))
        cloud = try CloudSettings(settings, dataDirectory: data)
        shadow = try ShadowSettings(settings, applicationId: applicationId)
        bus = try BusConfiguration(ofGateway: replica, settings, dataDirectory: data)
        logsRequests = try settings.flag("satchel.log.requests", default: false)
    }

    /// The address of the listener.
    var address: ListenAddress { listenPath.map { .file(path: $0) } ?? .network(host: host, port: port) }

    /// The limit of a unix socket's path (sockaddr_un).
    private static let socketPathBytesMax = 107

    /// A body or file travels in one frame of the bus, which has at most 64 MiB.
    private static let frameBytes = 1...48 << 20

    /// All keys: texts that must be redacted in logs.
    var secrets: [String] {
        [masterKey, cloud.webhookKey, admission.readOnlyMasterKey, admission.maintenanceKey, admission.metricsToken]
            .compactMap(\.self) + clientKeys.values
    }

    /// Compares secrets in constant time.
    static func isSame(_ a: String, _ b: String) -> Bool {
        // The digests have a fixed length, so their comparison does not reveal the length of the key either.
        ConstantTime.areEqual(Array(SHA256.hash(data: Array(a.utf8))), Array(SHA256.hash(data: Array(b.utf8))))
    }

    /// Whether the shop began with a release that has the storefront. Its first start leaves a mark; a shop with older
    /// data gets no new pages until the operator turns them on.
    /// - Parameter key: the file of a key that the first start creates after the mark.
    private static func isOfferedAStorefront(_ data: String, key: String) -> Bool {
        let mark = data + "/storefront"
        if FileManager.default.fileExists(atPath: mark) { return true }
        guard !FileManager.default.fileExists(atPath: key) else { return false }
        return FileManager.default.createFile(atPath: mark, contents: nil)
    }
}

/// The master key when none is configured: created at the first start, in a file that only its user can read.
private struct MasterKeyFile {
    let path: String

    func key() throws -> String {
        if let known = try read() { return known }
        do throws(DurableFile.Failure) {
            // The file is complete or missing: an empty file, left by a full disk, would block every later start.
            try DurableFile.write(
                Array(Names.random(40).utf8), to: path, draft: "\(path).\(Names.random(12))", taken: .keep)
        } catch {
            throw StartupProblem("\(path) cannot be written: \(error).")
        }
        guard let made = try read() else { throw StartupProblem("\(path) could not be created.") }
        return made
    }

    private func read() throws -> String? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        let key = text.trimmingCharacters(in: .whitespacesAndNewlines)
        // An empty file must not make an empty header the master key.
        guard key.count >= 20 else { throw StartupProblem("\(path) holds no key; remove it.") }
        return key
    }
}
