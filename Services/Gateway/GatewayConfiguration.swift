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
    /// `SATCHEL_LISTEN`, a path of a unix socket, instead of host and port.
    let listenPath: String?
    /// `SATCHEL_DRAIN_MILLISECONDS`: time in which a gateway that stops tells balancers and serves on.
    let drain: Duration
    /// Path components before the Parse routes; `["parse"]`. `/1` always works too.
    let mount: [Substring]
    /// Base of `Location` and file URLs, without a slash at the end.
    let publicURL: String
    /// Path components of `publicURL`, the mount included; a proxy may serve it elsewhere than the gateway does.
    let publicPath: [Substring]
    let applicationId: String
    let masterKey: String
    let clientKeys: [ClientKey: String]
    /// Networks from which the master key is accepted.
    let masterKeyNetworks: [Network]
    /// Rights beyond the plain keys, and limits on who may ask for what how often.
    let admission: AdmissionSettings
    /// Largest `limit` of a query; a larger one is cut to it.
    let limitMax: Int
    /// Largest `skip` of a query; a larger one is refused, because every row that is skipped is read.
    let skipMax: Int
    /// Largest JSON body. A batch of 200 objects of a usual size fits; a single object is limited to 128 KB by the
    /// store.
    let bodyBytesMax: Int
    /// Microseconds of processor time that one request may take in all services together; a batch is one request.
    let requestBudgetMicroseconds: Int64
    /// Bytes of answers that are kept for reads of the same; 0 for none.
    let readCacheBytes: Int
    /// Bytes of files that are kept for downloads of the same; 0 for none.
    let fileCacheBytes: Int
    /// Name of the shop on pages for people.
    let shopName: String
    /// The shop's currency, in which pages show and take prices.
    let currency: Currency
    /// Whether there are pages for people: the dashboard and what leads to it.
    let servesDashboard: Bool
    /// The pictures below the dashboard's maps.
    let mapTiles: MapTiles
    /// `SATCHEL_PAGES`: a folder with pages that replace the ones that come with Satchel; nil for none.
    let pagesDirectory: String?
    /// Largest file that is taken in.
    let fileBytesMax: Int
    let capacity: CapacitySettings
    let live: LiveSettings
    /// The clients that may upload files.
    let fileUpload: FileUploadRight
    /// The types of files that are taken in.
    let fileTypes: FileTypes
    let fileLinks: FileLinks
    let fileSigner: FileSigner
    /// Webhooks, logs, purchases.
    let cloud: CloudSettings
    let bus: BusConfiguration
    let start: ProcessStart
    /// The settings as they were read, to be shown to operators.
    let settings: Settings
    /// Whether each request is a line of the log.
    let logsRequests: Bool

    enum ClientKey: CaseIterable, Sendable {
        case rest, javascript, client, windows

        /// The variable that sets it.
        var setting: String { "SATCHEL_\("\(self)".uppercased())_KEY" }
    }

    /// - Throws: when a setting cannot work, with a text that names it.
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
        shopName = settings.text("satchel.shop.name", default: "Satchel")
        // What is no currency ends the start of every service that counts money, with a text that says so.
        currency = (try? Currency(settings.text("satchel.currency", default: Currency.standard.code))) ?? .standard
        // A mount of such a name has the path already.
        servesDashboard =
            try settings.flag("satchel.dashboard", default: true)
            && !mount.prefix(1).contains(where: WebSite.folders.contains)
        mapTiles = try MapTiles(settings)
        pagesDirectory = settings["satchel.pages"]
        fileBytesMax = try settings.number("satchel.file.bytes.max", Self.frameBytes, default: 10 << 20)
        // A file in a JSON body is longer by a third.
        capacity = try CapacitySettings(
            settings, largestBody: max(bodyBytesMax, fileBytesMax / 3 * 4 + BodyReader.tunnelBytesMax))
        live = try LiveSettings(settings, connections: capacity.connectionsMax)
        fileUpload = try settings.choice("satchel.file.upload", default: FileUploadRight.authenticated)
        fileTypes = try FileTypes(adding: settings.text("satchel.file.types", default: ""))
        fileLinks = FileLinks(publicURL: self.publicURL, applicationId: applicationId)
        let filesKey = KeyFile(path: settings.text("satchel.files.key.file", default: data + "/files.key"))
        let fileSeconds = try settings.number(
            "satchel.file.url.seconds", 1...Int(FileSigner.secondsMax), default: 3600)
        fileSigner = FileSigner(key: try filesKey.key(), seconds: Int64(fileSeconds))
        cloud = try CloudSettings(settings, dataDirectory: data)
        bus = try BusConfiguration(ofGateway: replica, settings, dataDirectory: data)
        logsRequests = try settings.flag("satchel.log.requests", default: false)
    }

    /// Where it takes connections.
    var address: ListenAddress { listenPath.map { .file(path: $0) } ?? .network(host: host, port: port) }

    /// Of a unix socket's path (sockaddr_un).
    private static let socketPathBytesMax = 107

    /// Bodies and files travel in one frame of the bus, which has at most 64 MiB.
    private static let frameBytes = 1...48 << 20

    /// Every key there is: what must not be shown with a log.
    var secrets: [String] {
        [masterKey, cloud.webhookKey, admission.readOnlyMasterKey, admission.maintenanceKey].compactMap(\.self)
            + clientKeys.values
    }

    /// Compares secrets without telling by the time how much of them is right.
    static func isSame(_ a: String, _ b: String) -> Bool {
        // Of the digests, which have one length: that of a key is no secret then either.
        ConstantTime.areEqual(Array(SHA256.hash(data: Array(a.utf8))), Array(SHA256.hash(data: Array(b.utf8))))
    }
}

/// The master key of a suite that was not given one: made at the first start, kept in a file only its user can read.
private struct MasterKeyFile {
    let path: String

    func key() throws -> String {
        if let known = try read() { return known }
        do throws(DurableFile.Failure) {
            // Complete or not there: an empty file, left by a full disk, would be no key for ever after.
            try DurableFile.write(
                Array(Names.random(40).utf8), to: path, draft: "\(path).\(Names.random(12))", taken: .keep)
        } catch {
            throw StartupProblem("\(path) cannot be written: \(error).")
        }
        guard let made = try read() else { throw StartupProblem("\(path) could not be made.") }
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
