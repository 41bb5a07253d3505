import Configuration
import Crypto
import Foundation
import Logging
import MessageBus
import ParseProtocol

/// The gateway's settings from the environment; README's table lists them.
struct GatewayConfiguration: Sendable {
    let host: String
    let port: Int
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
    /// Largest JSON body. A batch of 200 objects of a usual size fits; a single object is limited to 128 KB by the store.
    let bodyBytesMax: Int
    /// Microseconds of processor time that one request may take in all services together; a batch is one request.
    let requestBudgetMicroseconds: Int64
    /// Name of the shop on pages for people.
    let shopName: String
    /// `SATCHEL_PAGES`: a folder with pages that replace the ones that come with Satchel; nil for none.
    let pagesDirectory: String?
    /// Largest file that is taken in.
    let fileBytesMax: Int
    let capacity: CapacitySettings
    /// Who may upload files.
    let fileUpload: FileUploadRight
    /// Which files are taken in.
    let fileTypes: FileTypes
    let fileLinks: FileLinks
    let fileSigner: FileSigner
    /// Webhooks, logs, purchases.
    let cloud: CloudSettings
    let bus: BusConfiguration
    let logLevel: Logger.Level
    /// Whether each request is a line of the log.
    let logsRequests: Bool

    enum ClientKey: CaseIterable, Sendable {
        case rest, javascript, client, windows

        /// The variable that sets it.
        var setting: String { "SATCHEL_\("\(self)".uppercased())_KEY" }
    }

    /// - Throws: when a setting cannot work, with a text that names it.
    init(reader: ConfigReader = .environment) throws {
        host = reader.string(forKey: "satchel.host", default: "127.0.0.1")
        port = reader.int(forKey: "satchel.port", default: 1337)
        let mountPath = reader.string(forKey: "satchel.mount", default: "/parse")
        mount = mountPath.split(separator: "/")
        publicURL = PublicURL { reader.string(forKey: ConfigKey($0)) }.text
        publicPath = try ParseRequest.path(URLComponents(string: publicURL)?.percentEncodedPath ?? "")
        applicationId = reader.string(forKey: "satchel.app.id", default: "satchel")
        let data = URL(fileURLWithPath: reader.string(forKey: "satchel.data", default: "./data")).standardizedFileURL
            .path
        try FileManager.default.createDirectory(atPath: data + "/sockets", withIntermediateDirectories: true)
        masterKey = try Self.secret(reader, "satchel.master.key") ?? MasterKeyFile(path: data + "/master.key").key()
        clientKeys = [
            .rest: "satchel.rest.key", .javascript: "satchel.javascript.key", .client: "satchel.client.key",
            .windows: "satchel.windows.key",
        ].compactMapValues { Self.secret(reader, $0) }
        masterKeyNetworks = try Network.list(
            reader.string(forKey: "satchel.master.key.ips", default: "127.0.0.0/8,::1"))
        admission = try AdmissionSettings(reader: reader)
        try admission.checkKeys(
            master: masterKey,
            others: Dictionary(uniqueKeysWithValues: clientKeys.map { ($0.setting, $1) })
                .merging(["SATCHEL_APP_ID": applicationId]) { key, _ in key })
        limitMax = reader.int(forKey: "satchel.limit.max", default: 1000)
        skipMax = try Self.skipMax(reader)
        bodyBytesMax = reader.int(forKey: "satchel.body.bytes.max", default: 8 << 20)
        requestBudgetMicroseconds = try Self.requestBudget(reader)
        shopName = reader.string(forKey: "satchel.shop.name", default: "Satchel")
        pagesDirectory = reader.string(forKey: "satchel.pages")
        fileBytesMax = try Self.fileBytesMax(reader)
        // A file in a JSON body is longer by a third.
        capacity = try CapacitySettings(
            reader: reader, largestBody: max(bodyBytesMax, fileBytesMax / 3 * 4 + BodyReader.tunnelBytesMax))
        fileUpload = try Self.fileUpload(reader)
        fileTypes = try FileTypes(adding: reader.string(forKey: "satchel.file.types", default: ""))
        fileLinks = FileLinks(publicURL: self.publicURL, applicationId: applicationId)
        fileSigner = FileSigner(
            key: try Self.filesKey(reader, data: data), seconds: Int64(try Self.fileURLSeconds(reader)))
        cloud = try CloudSettings(reader: reader, dataDirectory: data)
        bus = try BusConfiguration(reader: reader, dataDirectory: data)
        logLevel = Logger.Level(rawValue: reader.string(forKey: "satchel.log.level", default: "info")) ?? .info
        logsRequests = reader.bool(forKey: "satchel.log.requests", default: false)
    }

    /// A file travels in one frame of the bus, which has at most 64 MiB.
    private static func fileBytesMax(_ reader: ConfigReader) throws -> Int {
        let bytes = reader.int(forKey: "satchel.file.bytes.max", default: 10 << 20)
        guard (1...48 << 20).contains(bytes) else {
            throw ConfigurationProblem(
                description: "SATCHEL_FILE_BYTES_MAX must be from 1 to \(48 << 20), not \(bytes).")
        }
        return bytes
    }

    /// `SATCHEL_FILES_KEY_FILE`, or `files.key` in the data directory.
    private static func filesKey(_ reader: ConfigReader, data: String) throws -> [UInt8] {
        let path = reader.string(forKey: "satchel.files.key.file", default: "")
        return try KeyFile(path: path.isEmpty ? data + "/files.key" : path).key()
    }

    private static func fileURLSeconds(_ reader: ConfigReader) throws -> Int {
        let seconds = reader.int(forKey: "satchel.file.url.seconds", default: 3600)
        guard (1...Int(FileSigner.secondsMax)).contains(seconds) else {
            throw ConfigurationProblem(
                description: "SATCHEL_FILE_URL_SECONDS must be from 1 to \(FileSigner.secondsMax), not \(seconds).")
        }
        return seconds
    }

    private static func skipMax(_ reader: ConfigReader) throws -> Int {
        let rows = reader.int(forKey: "satchel.skip.max", default: 1_000_000)
        guard (0...1_000_000_000).contains(rows) else {
            throw ConfigurationProblem(description: "SATCHEL_SKIP_MAX must be from 0 to 1000000000, not \(rows).")
        }
        return rows
    }

    private static func requestBudget(_ reader: ConfigReader) throws -> Int64 {
        let milliseconds = reader.int(forKey: "satchel.request.cpu.milliseconds", default: 5000)
        guard (100...60_000).contains(milliseconds) else {
            throw ConfigurationProblem(
                description: "SATCHEL_REQUEST_CPU_MILLISECONDS must be from 100 to 60000, not \(milliseconds).")
        }
        return Int64(milliseconds) * 1000
    }

    private static func fileUpload(_ reader: ConfigReader) throws -> FileUploadRight {
        let text = reader.string(forKey: "satchel.file.upload", default: FileUploadRight.authenticated.rawValue)
        guard let right = FileUploadRight(rawValue: text) else {
            throw ConfigurationProblem(
                description: "SATCHEL_FILE_UPLOAD must be public, anonymous, authenticated or master, not \(text).")
        }
        return right
    }

    private static func secret(_ reader: ConfigReader, _ key: String) -> String? {
        reader.string(forKey: ConfigKey(key), isSecret: true)
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
        if let text = try? String(contentsOfFile: path, encoding: .utf8) {
            let key = text.trimmingCharacters(in: .whitespacesAndNewlines)
            // An empty file, left by a full disk, must not make an empty header the master key.
            guard key.count >= 20 else { throw ConfigurationProblem(description: "\(path) holds no key; remove it.") }
            return key
        }
        let key = Names.random(40)
        guard
            FileManager.default.createFile(
                atPath: path, contents: Data(key.utf8), attributes: [.posixPermissions: 0o600])
        else { throw ConfigurationProblem(description: "\(path) cannot be written.") }
        return key
    }
}

package struct ConfigurationProblem: Error, CustomStringConvertible {
    package let description: String
}
