import Cryptography
import Foundation
import HTTPTypes
import Mustache
import ParseProtocol
import ProcessKit

/// The pages for browsers: the dashboard at `/dashboard`, the page for app developers at `/developers`, and a start
/// page at `/`.
///
/// They are outside the mount and need no key: they are the same for every user, and load their data through the
/// protocol with the session of the signed-in user. All files are read and compressed once at startup. They are under
/// `/<page>/assets/<digest of all files>/`, so that a page and its files always belong to one release and browsers can
/// cache them for ever.
struct WebSite: Sendable {
    private let start: SiteFile
    /// By the first component of their path.
    private let pages: [Substring: SiteFile]
    /// By path, as browsers request it; the page comes first.
    private let files: [String: SiteFile]

    /// The folders with a page; the name is also the first component of its path.
    static let folders: [Substring] = ["dashboard", "developers"]
    /// The page with maps.
    private static let mapped: Substring = "dashboard"
    private static let assets = "assets"
    /// A page's template, filled in at startup; it is never served itself.
    private static let template = "mustache"
    private static let types = [
        "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "json": "application/json; charset=utf-8", "svg": "image/svg+xml",
    ]

    /// - Throws: when a file is missing or unusable, which aborts startup.
    init(configuration: GatewayConfiguration) throws {
        try self.init(
            reading: Bundle.module.bundleURL.appendingPathComponent("Web"), publicURL: configuration.publicURL,
            tiles: configuration.mapTiles,
            values: [
                "shop": configuration.shopName, "mount": "/" + configuration.mount.joined(separator: "/"),
                "applicationId": configuration.applicationId, "currency": configuration.currency.code,
                // Made for pages, which every client can read. The keys of other clients are not included.
                "clientKey": configuration.clientKeys[.javascript] ?? "",
                "url": configuration.publicURL,
                "live": Self.offersLiveQueries(configuration) ? "true" : "",
                "tiles": configuration.mapTiles.template, "tilesAttribution": configuration.mapTiles.attribution,
                // The kinds of configured keys, so that examples have a place for them. The keys themselves are not
                // included.
                "keyKinds": GatewayConfiguration.ClientKey.allCases.filter { configuration.clientKeys[$0] != nil }
                    .map { "\($0)" }.joined(separator: " "),
            ])
    }

    /// Whether the dashboard should connect for live queries: a browser logs a refused connection as an error.
    private static func offersLiveQueries(_ configuration: GatewayConfiguration) -> Bool {
        configuration.live.isOn
            && configuration.admission.origins.admits(SiteHeaders.origin(of: configuration.publicURL))
    }

    /// - Parameters:
    ///   - root: the folder with `shared` and the folders of the pages.
    ///   - publicURL: the origin of pictures, which may differ from the page's.
    ///   - tiles: the tiles of maps, for the dashboard alone.
    ///   - values: the values for the templates.
    /// - Throws: when a file is missing or unusable.
    init(reading root: URL, publicURL: String, tiles: MapTiles, values: [String: String]) throws {
        let contents = try Self.contents(of: root)
        guard !contents.isEmpty else { throw StartupProblem("The pages in \(root.path) are missing.") }
        let prefix = "\(Self.assets)/\(Self.digest(of: contents))"
        files = contents.reduce(into: [:]) { files, entry in
            guard let type = Self.types[Self.suffix(of: entry.path)] else { return }
            let file = SiteFile(entry.bytes, headers: SiteHeaders.file(contentType: type))
            for folder in Self.folders { files["/\(folder)/\(prefix)/\(entry.path)"] = file }
        }
        let pictures = [SiteHeaders.origin(of: publicURL)].compactMap(\.self)
        func page(_ path: String, of folder: Substring, pictures: [String]) throws -> SiteFile {
            let headers = SiteHeaders.page(pictures: pictures)
            let values = values.merging(["assets": "/\(folder)/\(prefix)"]) { own, _ in own }
            guard let entry = contents.first(where: { $0.path == path }) else {
                throw StartupProblem("The page \(path) is missing in \(root.path).")
            }
            do {
                let page = try MustacheTemplate(string: String(decoding: entry.bytes, as: UTF8.self))
                return SiteFile(Array(page.render(values).utf8), headers: headers)
            } catch {
                throw StartupProblem("The page \(path) cannot be used: \(error)")
            }
        }
        start = try page("shared/start.\(Self.template)", of: Self.folders[0], pictures: pictures)
        pages = try Self.folders.reduce(into: [:]) { pages, folder in
            let others = folder == Self.mapped ? pictures + [tiles.origin].compactMap(\.self) : pictures
            pages[folder] = try page("\(folder)/index.\(Self.template)", of: folder, pictures: others)
        }
    }

    /// The files and the pages by path, as browsers request them.
    var byPath: [String: SiteFile] {
        pages.reduce(into: files) { files, page in files["/\(page.key)"] = page.value }
    }

    /// The response to a request for a page or one of its files; nil for any other request.
    func answer(_ request: ParseRequest) -> ParseResponse? {
        guard request.method == .get else { return nil }
        return answer(path: request.path, headers: request.headers)
    }

    /// True when the path may belong to a page; false for nearly all requests.
    static func mayAnswer(_ path: [Substring]) -> Bool { path.first.map { folders.contains($0) } ?? true }

    /// `answer` for a path. A path below a page that names no file is a view of the page, which the page itself
    /// resolves.
    func answer(path: [Substring], headers: HTTPFields) -> ParseResponse? {
        guard let first = path.first else {
            // Clients that probe `/` without accepting HTML get the router's response as before.
            return headers[.accept]?.contains("text/html") == true ? start.answer(to: headers) : nil
        }
        guard let page = pages[first] else { return nil }
        let rest = path.dropFirst()
        if rest.first.map({ $0 == Self.assets }) ?? false {
            return files["/" + path.joined(separator: "/")]?.answer(to: headers) ?? Self.missing
        }
        return rest.last?.contains(".") == true ? Self.missing : page.answer(to: headers)
    }

    /// Never cached: during an upgrade the file may exist a moment later.
    private static let missing: ParseResponse = {
        var response = ParseResponse(status: 404, ParseRouter.noRoute.body)
        response.headers[.cacheControl] = "no-store"
        return response
    }()

    // MARK: - Reading

    private struct Entry {
        /// Relative to the root, with slashes.
        let path: String
        let bytes: [UInt8]
    }

    /// Every file of the folder, sorted by path.
    private static func contents(of root: URL) throws -> [Entry] {
        let paths = FileManager.default.subpaths(atPath: root.path) ?? []
        return try paths.sorted().compactMap { path in
            guard types[suffix(of: path)] != nil || suffix(of: path) == template else { return nil }
            do {
                return Entry(path: path, bytes: Array(try Data(contentsOf: root.appendingPathComponent(path))))
            } catch {
                throw StartupProblem("The file \(path) of the pages cannot be read: \(error)")
            }
        }
    }

    private static func suffix(of path: String) -> String {
        path.split(separator: "/").last?.split(separator: ".").dropFirst().last.map(String.init) ?? ""
    }

    /// 16 hex digits of a digest over all paths and contents.
    private static func digest(of entries: [Entry]) -> String {
        let text = entries.flatMap { Array($0.path.utf8) + [0] + SHA256.hash(data: $0.bytes) }
        return SHA256.hash(data: text).prefix(8).hex
    }
}
