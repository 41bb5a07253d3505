import Compression
import Cryptography
import Foundation
import Messages
import Mustache
import ParseProtocol
import ProcessKit

/// The files of the pages for browsers: the dashboard at `/dashboard`, the page for app developers at `/developers`,
/// and a start page at `/`.
///
/// They are the same for every user, and load their data through the protocol with the session of the signed-in user.
/// All files are read and compressed once at startup, and kept compressed. They are under
/// `/<page>/assets/<digest of all files>/`, so that a page and its files always belong to one release and browsers can
/// cache them for ever. Elements for pages of other sites are under `/components/v1/` as well.
package struct WebSiteFiles: Sendable {
    /// A page's template, filled in for each request of the gateway; it is never served itself.
    private struct Page: Sendable {
        let path: String
        /// The folder whose path the page's files have.
        let folder: String
        let template: MustacheTemplate
    }

    private let pages: [Page]
    /// Without the content of compressed ones.
    private let files: [WebFile]
    /// The last part of `/<page>/assets/<digest>`.
    private let digest: String
    /// The values of templates that are settings of this service.
    private let values: [String: String]
    private let tiles: MapTiles
    /// The codes of each page's languages.
    private let languages: [String: String]

    /// The folders with a page; the name is also the first component of its path.
    private static let folders = ["dashboard", "developers"]
    /// The folder of the storefront's files, whose pages `Shop` renders.
    private static let shopFolder = "shop"
    /// The folder of elements for pages of any site, and the path under which those find them. A release that breaks
    /// such pages has another version.
    private static let elements = (folder: "components/", path: "/components/v1/")
    /// The browser's worker of the storefront.
    private static let worker = "shop/worker.js"
    /// The page with maps.
    private static let mapped = "/dashboard"
    private static let template = "mustache"
    private static let types = [
        "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "json": "application/json; charset=utf-8", "png": "image/png", "svg": "image/svg+xml",
    ]

    /// - Parameters:
    ///   - root: the folder with `shared` and the folders of the pages.
    ///   - tiles: the tiles of maps, for the dashboard alone.
    ///   - texts: a folder with languages of the dashboard (`DashboardTexts`); nil for none.
    ///   - own: a folder with styles and pictures of the storefront (`ShopFiles`); nil for none.
    /// - Throws: `StartupProblem` when a file is missing or unusable.
    package init(
        reading root: URL, shopName: String, currency: Currency, zone: ShopZone = .utc, tiles: MapTiles,
        texts: String? = nil, shopFiles own: String? = nil
    ) throws {
        self.tiles = tiles
        values = [
            "shop": shopName, "currency": currency.code, "timeZone": zone.name, "tiles": tiles.template,
            "tilesAttribution": tiles.attribution,
        ]
        var read = try Self.contents(of: root)
        if let texts { try DashboardTexts(reading: texts).add(to: &read) }
        if let own { try ShopFiles(reading: own).add(to: &read, under: Self.shopFolder) }
        let contents = read
        languages = Dictionary(
            uniqueKeysWithValues: Self.folders.map { ($0, Self.languages(of: $0, in: contents)) })
        let digest = Self.digest(of: contents)
        self.digest = digest
        let own = contents.compactMap { entry -> WebFile? in
            guard let type = Self.types[Self.suffix(of: entry.path)] else { return nil }
            return Self.kept(
                (Self.folders + [Self.shopFolder]).map { "\(Self.assets($0, digest))/\(entry.path)" }, entry.bytes,
                entry.path == Self.worker
                    ? SiteHeaders.worker(contentType: type) : SiteHeaders.file(contentType: type))
        }
        let elements = contents.compactMap { entry -> WebFile? in
            guard entry.path.hasPrefix(Self.elements.folder), let type = Self.types[Self.suffix(of: entry.path)]
            else { return nil }
            let path = "\(Self.elements.path)\(entry.path.dropFirst(Self.elements.folder.count))"
            return Self.kept([path], entry.bytes, SiteHeaders.element(contentType: type))
        }
        files = own + elements
        func page(_ path: String, _ file: String, of folder: String) throws -> Page {
            guard let entry = contents.first(where: { $0.path == "\(file).\(Self.template)" }) else {
                throw StartupProblem("The page \(file) is missing in \(root.path).")
            }
            do {
                let template = try MustacheTemplate(string: String(decoding: entry.bytes, as: UTF8.self))
                return Page(path: path, folder: folder, template: template)
            } catch {
                throw StartupProblem("The page \(file) cannot be used: \(error)")
            }
        }
        pages =
            try [page("/", "shared/start", of: Self.folders[0])]
            + Self.folders.map { try page("/\($0)", "\($0)/index", of: $0) }
    }

    /// The path under which the storefront's pages find their files.
    var shopAssets: String { Self.assets(Self.shopFolder, digest) + "/\(Self.shopFolder)" }

    /// All files, with the pages filled in for a gateway.
    /// - Throws: `Inflater.Problem` without memory.
    package func reply(to request: WebSiteRequest) throws -> WebSiteReply {
        let values = values.merging([
            "mount": request.mount, "applicationId": request.applicationID, "clientKey": request.clientKey,
            "url": request.url, "live": request.offersLiveQueries ? "true" : "",
            "keyKinds": request.keyKinds.joined(separator: " "),
        ]) { own, _ in own }
        // Pictures are at the public URL, which may differ from the page's.
        let pictures = [WebOrigin.of(request.url)].compactMap(\.self)
        return try WebSiteReply.with { reply in
            reply.files =
                try pages.map { page in
                    let own = ["assets": Self.assets(page.folder, digest), "languages": languages[page.folder] ?? ""]
                    let values = values.merging(own) { own, _ in own }
                    let others = page.path == Self.mapped ? [tiles.origin].compactMap(\.self) : []
                    return Self.file(
                        [page.path], Array(page.template.render(values).utf8),
                        SiteHeaders.page(pictures: pictures + others))
                } + files.map(Self.whole)
        }
    }

    private static func assets(_ folder: String, _ digest: String) -> String { "/\(folder)/assets/\(digest)" }

    /// Files up to this size hardly shrink below the size of gzip's header.
    private static let plainBytesMax = 256

    private static func file(_ paths: [String], _ bytes: [UInt8], _ headers: [WebHeader]) -> WebFile {
        WebFile.with {
            $0.paths = paths
            $0.headers = headers
            $0.content = Data(bytes)
            if bytes.count > plainBytesMax, let small = Gzip.compressed(bytes), small.count < bytes.count {
                $0.gzipped = Data(small)
            }
        }
    }

    /// A file without what can be had from its compressed form.
    private static func kept(_ paths: [String], _ bytes: [UInt8], _ headers: [WebHeader]) -> WebFile {
        var file = Self.file(paths, bytes, headers)
        if !file.gzipped.isEmpty, bytes.count <= Inflater.limit(for: file.gzipped.count) { file.content = Data() }
        return file
    }

    /// A file with its content.
    private static func whole(_ file: WebFile) throws -> WebFile {
        guard file.content.isEmpty, !file.gzipped.isEmpty else { return file }
        var file = file
        file.content = Data(try Inflater.unpack(Array(file.gzipped), .gzip, bytesMax: .max))
        return file
    }

    // MARK: - Reading

    struct Entry {
        /// Relative to the root, with slashes.
        let path: String
        let bytes: [UInt8]
    }

    /// The codes of the languages in which a page has texts, separated by spaces.
    private static func languages(of folder: String, in contents: [Entry]) -> String {
        contents.compactMap { DashboardTexts.language(of: $0.path, page: folder) }.joined(separator: " ")
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
