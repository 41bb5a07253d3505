import Foundation
import Glibc
import Outbound
import ParseProtocol

/// A place with the files of an old server.
protocol FileShelf: Sendable {
    /// For messages.
    var name: String { get }
    /// Whether reading a file again is cheap.
    var isLocal: Bool { get }
    /// Whether it is worth asking for the file.
    func mayHave(_ file: OldFile) -> Bool
    /// - Parameter bytesMax: limit of the content.
    /// - Returns: nil when the shelf has no such file.
    /// - Throws: `AnswerTooLarge` for a larger file, `ShelfProblem` for one that cannot be read; `MoveInError` when the
    ///   shelf cannot be read any further.
    func open(_ file: OldFile, bytesMax: Int) async throws -> ShelvedFile?
}

extension FileShelf {
    func mayHave(_ file: OldFile) -> Bool { true }
}

/// A file as a shelf has it.
struct ShelvedFile: Sendable, Equatable {
    var content: [UInt8]
    /// Nil where the shelf does not know it.
    var contentType: String?
}

/// Why one file cannot be read.
struct ShelfProblem: Error, Equatable {
    var reason: String
    /// Whether the shelf gives no answer at all.
    var isAway = false
}

/// A folder of files under their stored names: of Parse Server's file-system adapter, or a bucket that
/// `aws s3 sync` copied.
struct FolderShelf: FileShelf {
    private let path: String
    var name: String { path }
    let isLocal = true

    /// - Throws: `MoveInError` when there is no such folder.
    init(_ path: String) throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            throw MoveInError("\(path) is no folder.")
        }
        self.path = path
    }

    func open(_ file: OldFile, bytesMax: Int) async throws -> ShelvedFile? {
        for name in Self.names(of: file.name) {
            if let content = try content("\(path)/\(name)", bytesMax) { return ShelvedFile(content: content) }
        }
        return nil
    }

    /// The names that a file may have on the disk: Parse Server escapes spaces. Never leads out of the folder.
    static func names(of name: String) -> [String] {
        var names: [String] = []
        for candidate in [name, name.percentEncoded, name.removingPercentEncoding ?? name]
        where !names.contains(candidate) && candidate != "." && candidate != ".."
            && !candidate.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == 0 })
        {
            names.append(candidate)
        }
        return names
    }

    private func content(_ path: String, _ bytesMax: Int) throws -> [UInt8]? {
        // A link could show a file from outside of the folder, and opening a pipe would wait.
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT, ENAMETOOLONG: return nil
            case ELOOP: throw ShelfProblem(reason: "\(path) is a link")
            case let code: throw ShelfProblem(reason: "\(path) cannot be read: \(String(cString: strerror(code)))")
            }
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw ShelfProblem(reason: "\(path) is no file")
        }
        guard status.st_size <= bytesMax else { throw AnswerTooLarge() }
        let size = Int(status.st_size)
        var problem: Int32 = 0
        let content = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size {
                let got = Glibc.read(descriptor, buffer.baseAddress?.advanced(by: count), size - count)
                if got < 0, errno == EINTR { continue }
                if got < 0 { problem = errno }
                guard got > 0 else { break }
                count += got
            }
        }
        guard problem == 0 else {
            throw ShelfProblem(reason: "\(path) cannot be read: \(String(cString: strerror(problem)))")
        }
        return content
    }
}

/// Files at `<prefix><name>`, for a bucket that allows reading; and files at their own address, if it begins with a
/// prefix that the operator trusts.
///
/// Addresses in nested values are texts that the old server's clients wrote. So others are not asked: they could name a
/// host that only this machine reaches.
struct WebShelf: FileShelf {
    let name: String
    let isLocal = false
    private let http: PatientHTTP
    /// Nil for files at their own address.
    private let prefix: String?
    private let trusted: [String]

    private static let timeout = Duration.seconds(300)
    private static let redirectsMax = 3

    /// The file hosts of hosted Parse.
    static let hosted = ["https://files.parsetfss.com/", "http://files.parsetfss.com/"]

    /// - Parameter prefix: `https://bucket.example/` or `https://bucket.example/images/`.
    init(prefix: String, http: PatientHTTP) throws {
        let prefix = prefix.hasSuffix("/") ? prefix : prefix + "/"
        _ = try Self.checked(prefix)
        (self.prefix, trusted, name, self.http) = (prefix, [prefix], prefix, http)
    }

    /// - Parameter trusted: prefixes of addresses, each with a scheme, a host and at least `/`.
    init(trusted: [String], http: PatientHTTP) throws {
        self.trusted = try trusted.map { try Self.checked($0.hasSuffix("/") ? $0 : $0 + "/") }
        (prefix, name, self.http) = (nil, "the address", http)
    }

    private static func checked(_ prefix: String) throws -> String {
        guard let parts = URLComponents(string: prefix), ["http", "https"].contains(parts.scheme),
            parts.host?.isEmpty == false, parts.user == nil, parts.query == nil, parts.fragment == nil
        else { throw MoveInError("--files takes folders, s3://bucket/prefix, and https://files.example.com/.") }
        return prefix
    }

    func mayHave(_ file: OldFile) -> Bool { prefix != nil || file.url != nil }

    func open(_ file: OldFile, bytesMax: Int) async throws -> ShelvedFile? {
        if let prefix { return try await fetched(prefix + file.name.percentEncoded, bytesMax) }
        guard let url = file.url else { return nil }
        guard trusted.contains(where: { url.hasPrefix($0) }) else {
            let host = URLComponents(string: url)?.host ?? "no host"
            throw ShelfProblem(reason: "its address is on \(host), which needs --files https://…/")
        }
        return try await fetched(url, bytesMax)
    }

    private func fetched(_ url: String, _ bytesMax: Int) async throws -> ShelvedFile? {
        var url = url
        for _ in 0...Self.redirectsMax {
            var request = OutboundRequest(.get, url, timeout: Self.timeout)
            request.answerBytesMax = bytesMax
            let shown = String(url.prefix { $0 != "?" })
            let response: OutboundResponse
            do {
                response = try await http.send(request, shown)
            } catch let error as MoveInError {
                throw ShelfProblem(reason: error.description, isAway: true)
            }
            switch response.status {
            case 200: return ShelvedFile(content: response.body, contentType: response.headers["content-type"])
            case 301, 302, 303, 307, 308:
                // Buckets answer so. The redirect comes from a trusted host.
                guard let target = response.headers["location"], target.hasPrefix("https://") || target.hasPrefix("/")
                else { throw ShelfProblem(reason: "\(shown) redirects elsewhere") }
                url = target.hasPrefix("/") ? Self.origin(url) + target : target
            case 403, 404, 410: return nil
            default: throw ShelfProblem(reason: "\(shown) answers \(response.status)")
            }
        }
        throw ShelfProblem(reason: "\(url.prefix { $0 != "?" }) redirects too often")
    }

    /// The scheme and host of a URL.
    private static func origin(_ url: String) -> String {
        let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.prefix(3).joined(separator: "/")
    }
}
