import ParseProtocol

/// Which files are taken in: pairs of extension and content type. An allow-list, because the list of what browsers run is never
/// complete; pairs, because a name that says one thing and a type that says another fool whoever looks at one of them.
enum FileTypes {
    private struct Kind {
        let extensions: [String]
        /// The first is what the file is kept and served as; the others are spellings of clients.
        let types: [String]
    }

    private static let kinds = [
        Kind(extensions: ["jpg", "jpeg"], types: ["image/jpeg", "image/jpg", "image/pjpeg"]),
        Kind(extensions: ["png"], types: ["image/png", "image/x-png"]),
        Kind(extensions: ["gif"], types: ["image/gif"]),
        Kind(extensions: ["webp"], types: ["image/webp"]),
        Kind(extensions: ["heic"], types: ["image/heic"]),
        Kind(extensions: ["heif"], types: ["image/heif"]),
        Kind(extensions: ["avif"], types: ["image/avif"]),
        Kind(extensions: ["bmp"], types: ["image/bmp", "image/x-ms-bmp"]),
        Kind(extensions: ["pdf"], types: ["application/pdf"]),
        Kind(extensions: ["txt"], types: ["text/plain"]),
        Kind(extensions: ["csv"], types: ["text/csv"]),
        Kind(extensions: ["json"], types: ["application/json"]),
        Kind(extensions: ["mp3"], types: ["audio/mpeg", "audio/mp3"]),
        Kind(extensions: ["m4a"], types: ["audio/mp4", "audio/x-m4a", "audio/m4a"]),
        Kind(extensions: ["aac"], types: ["audio/aac"]),
        Kind(extensions: ["wav"], types: ["audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"]),
        Kind(extensions: ["ogg", "oga"], types: ["audio/ogg"]),
        Kind(extensions: ["mp4"], types: ["video/mp4"]),
        Kind(extensions: ["m4v"], types: ["video/x-m4v"]),
        Kind(extensions: ["mov"], types: ["video/quicktime"]),
        Kind(extensions: ["webm"], types: ["video/webm"]),
        Kind(extensions: ["zip"], types: ["application/zip", "application/x-zip-compressed"]),
        Kind(extensions: ["gz"], types: ["application/gzip", "application/x-gzip"]),
        Kind(extensions: ["bin", "dat"], types: [unstated]),
    ]

    /// What clients say that do not know the type.
    private static let unstated = "application/octet-stream"

    /// The name and type a file is kept with.
    /// - Parameters:
    ///   - name: as the client gave it; one without an extension gets that of the type.
    ///   - contentType: as the client gave it; without one, that of the extension counts.
    /// - Throws: 122 for a bad name, 130 for a pair that is not taken in.
    static func accept(name: String, contentType: String?) throws(ParseError) -> (name: String, contentType: String) {
        try FileNames.check(name)
        let type = try bareType(contentType ?? "")
        guard let dot = name.lastIndex(of: ".") else {
            guard let kind = kinds.first(where: { $0.types.contains(type) }) else { throw refused("type \(type)") }
            return ("\(name).\(kind.extensions[0])", kind.types[0])
        }
        let fileExtension = name[name.index(after: dot)...].lowercased()
        guard let kind = kinds.first(where: { $0.extensions.contains(fileExtension) }) else {
            throw refused("extension \(fileExtension)")
        }
        guard type == unstated || kind.types.contains(type) else {
            throw ParseError(
                .fileSaveError, "The content type \(type.prefix(60)) does not fit the extension \(fileExtension).")
        }
        return (name, kind.types[0])
    }

    private static func refused(_ what: String) -> ParseError {
        ParseError(.fileSaveError, "File upload of \(what.prefix(60)) is disabled.")
    }

    /// The type in lower case. A parameter can change what a browser makes of a type, so that only the one that texts have is let pass.
    private static func bareType(_ text: String) throws(ParseError) -> String {
        let parts = text.lowercased().split(separator: ";", omittingEmptySubsequences: false).map {
            $0.filter { $0 != " " && $0 != "\"" }
        }
        // What the PHP SDK says of a name without an extension.
        guard let type = parts.first, !type.isEmpty, type != "unknown/unknown" else { return unstated }
        guard parts.count == 1 || (type.hasPrefix("text/") && parts.dropFirst() == ["charset=utf-8"]) else {
            throw ParseError(.fileSaveError, "The content type must not have parameters.")
        }
        return type
    }
}
