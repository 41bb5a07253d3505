import HTTPTypes

/// The files of the pages with their heads as bytes, for answers on their connection's event loop: nothing of one is
/// made when it is asked for but the request's id and the date.
struct ReadyFiles: Sendable {
    /// One form of a file.
    struct Form: Sendable {
        let heads: ReadHeads
        let body: FinalBody
    }

    private struct File: Sendable {
        let plain: Form
        let gzipped: Form?
    }

    /// By the path that a request's head has. It holds for no other text of the same path, nor with a query behind it:
    /// those take the way of all requests.
    private let files: [String: File]
    /// Bytes of the longest of these paths, so that longer ones are not looked up.
    private let pathBytesMax: Int

    /// - Parameters:
    ///   - files: by their path.
    ///   - fields: the headers of all answers to clients that name no origin.
    init(_ files: [String: SiteFile], fields: HTTPFields) {
        // Most files have the same headers.
        var known: [HTTPFields: ReadHeads] = [:]
        func form(_ form: SiteFile.Form) -> Form {
            var all = fields
            for field in form.headers { all[field.name] = field.value }
            let heads = known[all] ?? ReadHeads(all)
            known[all] = heads
            return Form(heads: heads, body: form.body)
        }
        pathBytesMax = files.keys.map(\.utf8.count).max() ?? 0
        self.files = files.mapValues { File(plain: form($0.plain), gzipped: $0.gzipped.map(form)) }
    }

    /// Whether a path is one of a file.
    func isFile(_ path: String) -> Bool { file(at: path) != nil }

    private func file(at path: String) -> File? { path.utf8.count <= pathBytesMax ? files[path] : nil }

    /// What a plain `GET` asks for; nil for whatever is none of a file, or needs more than its bytes.
    /// - Returns: the form that the client takes, and whether it has it already.
    func found(by request: HTTPRequest) -> (form: Form, isKnown: Bool)? {
        guard request.method == .get, let file = request.path.flatMap(file(at:)) else { return nil }
        var accepted: String?
        var known: String?
        for field in request.headerFields {
            switch field.name {
            // It decides about headers.
            case .origin: return nil
            case .acceptEncoding:
                guard accepted == nil else { return nil }
                accepted = field.value
            case .ifNoneMatch:
                guard known == nil else { return nil }
                known = field.value
            default: break
            }
        }
        let form = file.gzipped.flatMap { SiteFile.takesGzip(accepted) ? $0 : nil } ?? file.plain
        return (form, known.map { EntityTag.isNamed(form.body.tag, in: $0) } ?? false)
    }
}
