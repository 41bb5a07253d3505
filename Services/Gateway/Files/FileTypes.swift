import ParseProtocol
import ProcessKit

/// The accepted types of files: pairs of extension and content type. It is an allow-list, because no list of the types
/// that browsers run is complete. It has pairs, because a name that disagrees with its type misleads software that
/// checks only one of them.
package struct FileTypes: Sendable {
    private struct Kind: Sendable {
        let extensions: [String]
        /// The first is the type under which the file is stored and served; the others are clients' spellings of it.
        let types: [String]
    }

    /// The kinds of files that Satchel accepts by default, and the kinds that an operator added.
    private var kinds = standardKinds

    private static let standardKinds = [
        Kind(extensions: ["jpg", "jpeg"], types: ["image/jpeg", "image/jpg", "image/pjpeg"]),
        Kind(extensions: ["png"], types: ["image/png", "image/x-png"]),
        Kind(extensions: ["gif"], types: ["image/gif"]),
        Kind(extensions: ["webp"], types: ["image/webp"]),
        Kind(extensions: ["heic"], types: ["image/heic", "image/heic-sequence"]),
        Kind(extensions: ["heif"], types: ["image/heif", "image/heif-sequence"]),
        Kind(extensions: ["tif", "tiff"], types: ["image/tiff"]),
        Kind(extensions: ["avif"], types: ["image/avif"]),
        Kind(extensions: ["bmp"], types: ["image/bmp", "image/x-ms-bmp"]),
        Kind(extensions: ["pdf"], types: ["application/pdf"]),
        Kind(extensions: ["txt", "log"], types: ["text/plain"]),
        Kind(extensions: ["csv"], types: ["text/csv"]),
        Kind(extensions: ["md"], types: ["text/markdown"]),
        Kind(extensions: ["rtf"], types: ["application/rtf", "text/rtf"]),
        Kind(extensions: ["ics"], types: ["text/calendar"]),
        Kind(extensions: ["vcf"], types: ["text/vcard", "text/x-vcard"]),
        Kind(extensions: ["json"], types: ["application/json"]),
        Kind(extensions: ["mp3"], types: ["audio/mpeg", "audio/mp3"]),
        Kind(extensions: ["m4a"], types: ["audio/mp4", "audio/x-m4a", "audio/m4a"]),
        Kind(extensions: ["aac"], types: ["audio/aac"]),
        Kind(extensions: ["caf"], types: ["audio/x-caf"]),
        Kind(extensions: ["aif", "aiff"], types: ["audio/aiff", "audio/x-aiff"]),
        Kind(extensions: ["amr"], types: ["audio/amr"]),
        Kind(extensions: ["flac"], types: ["audio/flac", "audio/x-flac"]),
        Kind(extensions: ["opus"], types: ["audio/opus"]),
        Kind(extensions: ["wav"], types: ["audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"]),
        Kind(extensions: ["ogg", "oga"], types: ["audio/ogg"]),
        Kind(extensions: ["mp4"], types: ["video/mp4"]),
        Kind(extensions: ["m4v"], types: ["video/x-m4v"]),
        Kind(extensions: ["mov"], types: ["video/quicktime"]),
        Kind(extensions: ["webm"], types: ["video/webm", "audio/webm"]),
        Kind(extensions: ["3gp"], types: ["video/3gpp", "audio/3gpp"]),
        Kind(extensions: ["3g2"], types: ["video/3gpp2", "audio/3gpp2"]),
        Kind(extensions: ["mkv"], types: ["video/x-matroska"]),
        Kind(extensions: ["avi"], types: ["video/x-msvideo", "video/avi"]),
        Kind(extensions: ["mpg", "mpeg"], types: ["video/mpeg"]),
        Kind(extensions: ["doc"], types: ["application/msword"]),
        Kind(extensions: ["xls"], types: ["application/vnd.ms-excel"]),
        Kind(extensions: ["ppt"], types: ["application/vnd.ms-powerpoint"]),
        Kind(extensions: ["docx"], types: ["application/vnd.openxmlformats-officedocument.wordprocessingml.document"]),
        Kind(extensions: ["xlsx"], types: ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"]),
        Kind(
            extensions: ["pptx"],
            types: ["application/vnd.openxmlformats-officedocument.presentationml.presentation"]),
        Kind(extensions: ["epub"], types: ["application/epub+zip"]),
        Kind(extensions: ["pkpass"], types: ["application/vnd.apple.pkpass"]),
        Kind(extensions: ["plist"], types: ["application/x-plist"]),
        Kind(extensions: ["sqlite", "db"], types: ["application/vnd.sqlite3", "application/x-sqlite3"]),
        Kind(extensions: ["zip"], types: ["application/zip", "application/x-zip-compressed"]),
        Kind(extensions: ["gz"], types: ["application/gzip", "application/x-gzip"]),
        Kind(extensions: ["bin", "dat"], types: [unstated]),
    ]

    /// The stored type when the client states none.
    private static let unstated = "application/octet-stream"
    /// The other types that clients and their libraries send for an unknown type, such as for bytes, or in the PHP SDK
    /// for a name without an extension.
    private static let spellingsOfUnstated: Set<String> = [
        "", "binary/octet-stream", "application/x-www-form-urlencoded", "unknown/unknown",
    ]
    /// Parts of types that a browser would run or draw in the shop's origin; no setting allows them.
    private static let running = ["html", "svg", "xml", "script", "flash"]

    package static let standard = FileTypes()

    private init() {}

    /// - Parameter added: an operator's list, `dwg=image/vnd.dwg, gpkg=application/geopackage+sqlite3`. A known
    ///   extension gets the type as another spelling.
    /// - Throws: for a malformed list, and for types that a browser runs.
    package init(adding added: String) throws {
        for entry in added.split(separator: ",") {
            let parts = entry.lowercased().filter { $0 != " " }.split(separator: "=", omittingEmptySubsequences: false)
            guard parts.count == 2, Self.isExtension(parts[0]), Self.isType(parts[1]) else {
                throw StartupProblem(
                    "SATCHEL_FILE_TYPES: \"\(entry)\" is no extension and type, such as dwg=image/vnd.dwg.")
            }
            guard !Self.running.contains(where: { parts[1].contains($0) }) else {
                throw StartupProblem(
                    "SATCHEL_FILE_TYPES: a browser would run \(parts[1]) as a page of the shop.")
            }
            add(String(parts[0]), String(parts[1]))
        }
    }

    private mutating func add(_ fileExtension: String, _ type: String) {
        guard let index = kinds.firstIndex(where: { $0.extensions.contains(fileExtension) }) else {
            return kinds.append(Kind(extensions: [fileExtension], types: [type]))
        }
        kinds[index] = Kind(extensions: kinds[index].extensions, types: kinds[index].types + [type])
    }

    private static func isExtension(_ text: some StringProtocol) -> Bool {
        (1...16).contains(text.utf8.count) && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
    }

    private static func isType(_ text: some StringProtocol) -> Bool {
        let halves = text.split(separator: "/", omittingEmptySubsequences: false)
        return halves.count == 2 && text.utf8.count <= 100
            && halves.allSatisfy { half in
                !half.isEmpty
                    && half.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-._".contains($0)) }
            }
    }

    /// The name and type under which a file is stored.
    /// - Parameters:
    ///   - name: from the client; without an extension it gets the one of the type.
    ///   - contentType: from the client; nil for the type of the extension.
    /// - Throws: `.invalidFileName` (122) for a bad name, `.fileSaveError` (130) for a pair that is not accepted.
    package func accept(name: String, contentType: String?) throws(ParseError) -> (name: String, contentType: String) {
        try FileNames.check(name)
        let type = try Self.bareType(contentType ?? "")
        guard let dot = name.lastIndex(of: ".") else {
            guard let kind = kinds.first(where: { $0.types.contains(type) }) else { throw Self.refused("type \(type)") }
            return ("\(name).\(kind.extensions[0])", kind.types[0])
        }
        let fileExtension = name[name.index(after: dot)...].drop { $0 == " " }.lowercased()
        guard let kind = kinds.first(where: { $0.extensions.contains(fileExtension) }) else {
            throw Self.refused("extension \(fileExtension)")
        }
        guard type == Self.unstated || kind.types.contains(type) else {
            throw ParseError(
                .fileSaveError, "The content type \(type.prefix(60)) does not fit the extension \(fileExtension).")
        }
        return (name, kind.types[0])
    }

    private static func refused(_ what: String) -> ParseError {
        ParseError(.fileSaveError, "File upload of \(what.prefix(60)) is disabled.")
    }

    /// The type in lower case. A parameter can change how a browser treats a type, so only the one for texts is
    /// allowed.
    private static func bareType(_ text: String) throws(ParseError) -> String {
        let parts = text.lowercased().split(separator: ";", omittingEmptySubsequences: false).map {
            $0.filter { $0 != " " && $0 != "\"" }
        }
        guard let type = parts.first, !spellingsOfUnstated.contains(String(type)) else { return unstated }
        guard parts.count == 1 || (type.hasPrefix("text/") && parts.dropFirst() == ["charset=utf-8"]) else {
            throw ParseError(.fileSaveError, "The content type must not have parameters.")
        }
        return String(type)
    }
}
