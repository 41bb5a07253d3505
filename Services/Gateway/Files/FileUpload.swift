import Foundation
import HTTPTypes
import ParseProtocol

/// The clients that may upload files; each group includes the ones before it.
enum FileUploadRight: String, CaseIterable, Sendable {
    case master, authenticated, anonymous, `public`
}

/// A client's upload: the raw bytes with a `Content-Type`, or, from the JavaScript SDK, a JSON body such as
/// `{"base64":"…","_ContentType":"image/png","fileData":{"metadata":{},"tags":{}}}` (PARSE_PROTOCOL section 10). The
/// header `X-Satchel-File-Private: true`, or `"private": true` in `fileData`, makes the file private.
struct FileUpload {
    let name: String
    let contentType: String
    let content: [UInt8]
    /// `{"metadata":{…},"tags":{…}}`, empty when there is neither.
    let metadata: [UInt8]
    /// Whether only signed URLs open the file.
    let isPrivate: Bool

    /// Bytes of the metadata that a client may send with a file. They are stored in the file's row.
    static let metadataBytesMax = 8192

    /// - Throws: `.invalidFileName` (122) for a bad name, `.fileTooLarge` (129) when it is too large, `.fileSaveError`
    ///   (130) for a type that is not accepted, `.invalidJSON` (107) for a malformed body, `.invalidKeyName` (105) for
    ///   a prohibited key.
    init(
        _ request: ParseRequest, named name: String, bytesMax: Int, types: FileTypes = .standard
    ) throws(ParseError) {
        let stated: String?
        if let body = request.tunnelled {
            guard let text = body["base64"]?.stringValue else { throw Self.invalid }
            // Checked before decoding: four characters hold three bytes.
            guard text.utf8.count <= (bytesMax + 2) / 3 * 4 else { throw .fileTooLarge(bytesMax) }
            guard let data = Data(base64Encoded: text) else { throw Self.invalid }
            content = Array(data)
            metadata = try Self.metadata(body["fileData"])
            isPrivate = body["fileData"]?["private"] == true
            stated = request.credentials.contentType
        } else {
            content = request.body
            metadata = try Self.metadata(Self.streamedData(request))
            isPrivate = request.headers[Self.privateName]?.lowercased() == "true"
            stated = request.headers[.contentType]
        }
        guard content.count <= bytesMax else { throw .fileTooLarge(bytesMax) }
        (self.name, contentType) = try types.accept(name: name, contentType: stated)
        guard !content.isEmpty else { throw Self.invalid }
    }

    /// The file that cloud code returns for an upload. It passes the same checks as a client's file.
    /// - Parameter file: `name`, `metadata` and `tags`, and `base64` with `contentType` when the content changes.
    /// - Throws: the errors of a client's upload.
    init(_ upload: FileUpload, as file: JSON, bytesMax: Int, types: FileTypes) throws(ParseError) {
        var stated = file["contentType"]?.stringValue
        if let text = file["base64"]?.stringValue {
            guard text.utf8.count <= (bytesMax + 2) / 3 * 4 else { throw .fileTooLarge(bytesMax) }
            guard let data = Data(base64Encoded: text), !data.isEmpty else { throw Self.invalid }
            content = Array(data)
        } else {
            content = upload.content
            stated = stated ?? upload.contentType
        }
        guard content.count <= bytesMax else { throw .fileTooLarge(bytesMax) }
        metadata = try Self.metadata(["metadata": file["metadata"] ?? [:], "tags": file["tags"] ?? [:]])
        isPrivate = upload.isPrivate
        (name, contentType) = try types.accept(
            name: file["name"]?.stringValue ?? upload.name, contentType: stated)
    }

    private static let invalid = ParseError(.fileSaveError, "Invalid file upload.")

    /// The metadata and tags that SDKs send in headers with a raw body, each as a JSON object.
    private static func streamedData(_ request: ParseRequest) throws(ParseError) -> JSON? {
        guard request.headers[uploadModeName] == "stream" else { return nil }
        var data: JSON = [:]
        for (part, name) in [("metadata", metadataName), ("tags", tagsName)] {
            guard let text = request.headers[name] else { continue }
            guard let value = try? JSON(clientText: Array(text.utf8)), case .object = value else {
                throw ParseError(.invalidJSON, "Invalid JSON in \(name.rawName) header.")
            }
            data[part] = value
        }
        return data
    }

    /// Whether the master key gives the whole stored name (`X-Satchel-File-Moved: true`), for files of another server.
    static func keepsName(_ request: ParseRequest) -> Bool { request.headers[movedName]?.lowercased() == "true" }

    private static let movedName = headerName("X-Satchel-File-Moved")
    private static let privateName = headerName("X-Satchel-File-Private")
    private static let uploadModeName = headerName("X-Parse-Upload-Mode")
    private static let metadataName = headerName("X-Parse-File-Metadata")
    private static let tagsName = headerName("X-Parse-File-Tags")

    private static func metadata(_ value: JSON?) throws(ParseError) -> [UInt8] {
        guard let value, !value.isNull else { return [] }
        var kept: [String: JSON] = [:]
        for part in ["metadata", "tags"] {
            guard let members = value[part], !members.isNull else { continue }
            guard case .object(let given) = members else {
                throw ParseError(.invalidJSON, "A file's \(part) must be an object.")
            }
            if let key = members.prohibitedKey { throw .prohibitedKey(key) }
            if !given.isEmpty { kept[part] = members }
        }
        guard !kept.isEmpty else { return [] }
        let text = JSON.object(kept).serialized
        guard text.count <= metadataBytesMax else {
            throw ParseError(.fileSaveError, "A file's metadata and tags have at most \(metadataBytesMax) bytes.")
        }
        return text
    }
}

extension ParseError {
    static func fileTooLarge(_ bytesMax: Int) -> ParseError {
        ParseError(.fileTooLarge, "The file is larger than \(bytesMax) bytes.")
    }
}
