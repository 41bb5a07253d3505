import HTTPTypes

/// The files of the pages with encoded heads, for responses on the event loop. Only the request's id and the date are
/// added for each request.
struct ReadyFiles: Sendable {
    /// One form of a file.
    struct Form: Sendable {
        let heads: ReadHeads
        let body: FinalBody
    }

    private struct File: Sendable {
        let uncompressed: Form
        let gzipped: Form?
    }

    /// By the path in a request's head. Other spellings of a path, and paths with a query, go through `RequestMachine`.
    private let files: [String: File]
    /// Bytes of the longest path; longer ones are not looked up.
    private let pathBytesMax: Int

    /// - Parameters:
    ///   - files: by their path.
    ///   - fields: the headers of all responses to clients without an origin.
    init(_ files: [String: SiteFile], fields: HTTPFields) {
        // Most files share their headers.
        var encoded: [HTTPFields: ReadHeads] = [:]
        func form(_ form: SiteFile.Form) -> Form {
            var all = fields
            for field in form.headers { all[field.name] = field.value }
            let heads = encoded[all] ?? ReadHeads(all)
            encoded[all] = heads
            return Form(heads: heads, body: form.body)
        }
        pathBytesMax = files.keys.map(\.utf8.count).max() ?? 0
        self.files = files.mapValues { File(uncompressed: form($0.uncompressed), gzipped: $0.gzipped.map(form)) }
    }

    /// Whether there is a file at a path.
    func isFile(_ path: String) -> Bool { file(at: path) != nil }

    private func file(at path: String) -> File? { path.utf8.count <= pathBytesMax ? files[path] : nil }

    /// Finds the file for a `GET`; nil for any other request, and for one whose response needs other headers.
    /// - Returns: the form that the client accepts, and whether the client's copy is current.
    func found(by request: HTTPRequest) -> (form: Form, isNotModified: Bool)? {
        guard request.method == .get, let file = request.path.flatMap(file(at:)) else { return nil }
        var accepted: String?
        var clientTags: String?
        for field in request.headerFields {
            switch field.name {
            // The origin decides about headers.
            case .origin: return nil
            case .acceptEncoding:
                guard accepted == nil else { return nil }
                accepted = field.value
            case .ifNoneMatch:
                guard clientTags == nil else { return nil }
                clientTags = field.value
            default: break
            }
        }
        let form = SiteFile.form(file.uncompressed, file.gzipped, for: accepted)
        return (form, EntityTag.isNamed(form.body.tag, in: clientTags))
    }
}
