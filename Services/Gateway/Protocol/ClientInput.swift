import HTTPTypes
import ParseProtocol

/// The parsers of clients' bytes, each as one call, so that tests can feed them any input.
package enum ClientInput {
    /// The components of a path.
    /// - Throws: `.invalidJSON` (107).
    package static func path(_ text: String) throws -> [String] { try ParseRequest.path(text).map(String.init) }

    /// The options of a query string.
    /// - Throws: `.invalidJSON` (107).
    package static func options(query: String) throws -> [String: JSON] {
        var request = ParseRequest(method: .get, path: [], call: CallContext(), clientAddress: nil)
        request.query = query
        return try request.options()
    }

    /// The parameters of a cloud function in a query string.
    /// - Throws: `.invalidJSON` (107).
    package static func parameters(query: String) throws -> [String: JSON] {
        var request = ParseRequest(method: .post, path: [], call: CallContext(), clientAddress: nil)
        request.query = query
        return try request.parameters(asTexts: true)
    }

    /// The number of fields that `keys` include, over all objects of a list.
    package static func branches(of list: JSON, keys: [String]) -> Int {
        var tree = IncludeTree()
        tree.select(keys: keys, excludeKeys: [])
        return (list.arrayValue ?? []).reduce(0) { $0 + tree.branches(of: $1).count }
    }

    /// The credentials and the remaining members of a tunnelled body (PARSE_PROTOCOL section 1.2), as a file.
    /// - Throws: `.invalidJSON` (107) for the body; `.invalidJSON` (107), `.invalidFileName` (122), `.fileTooLarge`
    ///   (129) and `.fileSaveError` (130) for the file.
    package static func file(
        tunnelled body: [UInt8], named name: String, bytesMax: Int
    ) throws -> (name: String, contentType: String, content: [UInt8]) {
        var request = ParseRequest(method: .post, path: ["files"], call: CallContext(), clientAddress: nil)
        request.body = body
        var members = try request.object
        _ = try request.credentials.take(from: &members, knownId: "satchel")
        request.tunnelled = members
        return try read(request, name, bytesMax)
    }

    /// A file as raw bytes.
    /// - Throws: `.invalidFileName` (122), `.fileTooLarge` (129) and `.fileSaveError` (130).
    package static func file(
        _ content: [UInt8], named name: String, contentType: String, bytesMax: Int
    ) throws -> (name: String, contentType: String, content: [UInt8]) {
        var request = ParseRequest(method: .post, path: ["files"], call: CallContext(), clientAddress: nil)
        request.body = content
        request.headers[.contentType] = contentType
        return try read(request, name, bytesMax)
    }

    private static func read(
        _ request: ParseRequest, _ name: String, _ bytesMax: Int
    ) throws -> (String, String, [UInt8]) {
        let upload = try FileUpload(request, named: name, bytesMax: bytesMax)
        return (upload.name, upload.contentType, upload.content)
    }

    /// A form of the storefront: its texts, and its file with the type that the browser states.
    /// - Throws: `.invalidJSON` (107), `.fileTooLarge` (129).
    package static func pageForm(
        _ body: [UInt8], contentType: String
    ) throws -> (fields: [String: String], file: [UInt8], fileType: String) {
        var request = ParseRequest(method: .post, path: [], call: CallContext(), clientAddress: nil)
        request.body = body
        request.headers[.contentType] = contentType
        let form = try StorefrontForm(request)
        return (form.fields, form.file, form.fileType)
    }

    /// The bytes of a file that a `Range` header requests; nil when the range cannot be satisfied.
    package static func range(_ header: String, size: Int) -> Range<Int>? {
        switch ByteRange(header, if: nil, etag: "", size: size) {
        case .whole: 0..<size
        case .part(let range): range
        case .unsatisfiable: nil
        }
    }

    /// The rows of a CSV file.
    /// - Throws: `.invalidJSON` (107), `.objectTooLarge` (116).
    package static func rows(csv bytes: [UInt8]) throws -> [[String]] { try CSVTable(parsing: bytes).rows }

    package static func csv(_ rows: [[String]]) -> [UInt8] { rows.flatMap(CSVTable.line) }
}
