import HTTPTypes
import ParseProtocol

/// The readers that bytes of a client meet before anything else looks at them, each as one call, so that tests can put
/// any bytes in.
package enum ClientInput {
    /// The components of a path.
    /// - Throws: `.invalidJSON` (107).
    package static func path(_ text: String) throws -> [String] { try ParseRequest.path(text).map(String.init) }

    /// The options of a query string.
    /// - Throws: `.invalidJSON` (107).
    package static func options(query: String) throws -> [String: JSON] {
        var request = ParseRequest(method: .get, path: [], requestId: "", clientAddress: nil)
        request.query = query
        return try request.options()
    }

    /// Credentials and the rest of a tunnelled body (PARSE_PROTOCOL section 1.2), and the file that it may be.
    /// - Throws: `.invalidJSON` (107); of the file `.invalidJSON` (107), `.invalidFileName` (122), `.fileTooLarge`
    ///   (129) and `.fileSaveError` (130).
    package static func file(
        tunnelled body: [UInt8], named name: String, bytesMax: Int
    ) throws -> (name: String, contentType: String, content: [UInt8]) {
        var request = ParseRequest(method: .post, path: ["files"], requestId: "", clientAddress: nil)
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
        var request = ParseRequest(method: .post, path: ["files"], requestId: "", clientAddress: nil)
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

    /// The bytes of a file that a `Range` header asks for; nil for none of them.
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
