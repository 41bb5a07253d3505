import Cryptography
import Outbound
import ParseProtocol

/// The running suite, as far as files are concerned.
protocol FileSuite: Sendable {
    /// The SHA-256 of a stored file as hexadecimal digits; nil when there is none.
    func checksum(of name: String) async throws -> String?
    /// Stores a file under a name that has none.
    /// - Throws: `ShelfProblem` when the suite does not take the file; `MoveInError` when it does not work.
    func store(_ file: ShelvedFile, as name: String, checksum: String) async throws
}

/// The suite over HTTP with the master key.
///
/// A file keeps its checksum in its metadata, which each later run compares.
struct FileSuiteClient: FileSuite {
    private let url: String
    private let applicationId: String
    private let masterKey: String
    private let http: PatientHTTP

    private static let timeout = Duration.seconds(120)
    private static let metadataName = "sha256"
    private static let unstated = "application/octet-stream"

    /// - Parameter url: with the mount path, without a trailing slash.
    init(url: String, applicationId: String, masterKey: String, http: PatientHTTP = PatientHTTP(OutboundClient())) {
        (self.url, self.applicationId, self.masterKey, self.http) = (url, applicationId, masterKey, http)
    }

    func checksum(of name: String) async throws -> String? {
        let files = "/files/\(applicationId.percentEncoded)"
        let answer = try await send(.get, "\(files)/metadata/\(name.percentEncoded)")
        guard answer.status != 404 else { return nil }
        guard answer.status == 200, let data = try? JSON(parsing: answer.body) else {
            throw MoveInError("The suite answers \(answer.status) to a question about a file.")
        }
        if let checksum = data["metadata"]?[Self.metadataName]?.stringValue { return checksum }
        // Another program stored it.
        let file = try await send(.get, "\(files)/\(name.percentEncoded)")
        return file.status == 200 ? SHA256.hash(data: file.body).hex : ""
    }

    func store(_ file: ShelvedFile, as name: String, checksum: String) async throws {
        let metadata: JSON = [Self.metadataName: .string(checksum)]
        // With an extension, Satchel knows the type better than many an old server.
        let stated = (file.contentType ?? Self.unstated).prefix { $0 != ";" }
        let type = name.contains(".") ? Self.unstated : String(stated)
        let answer = try await send(
            .post, "/files/\(name.percentEncoded)", file.content,
            [
                ("Content-Type", type), ("X-Satchel-File-Moved", "true"), ("X-Parse-Upload-Mode", "stream"),
                ("X-Parse-File-Metadata", metadata.serializedText),
            ])
        guard answer.status != 201 else { return }
        let error = (try? JSON(parsing: answer.body))?["error"]?.stringValue
        guard answer.status != 401, answer.status != 403 else {
            throw MoveInError("The suite refuses the master key: \(error ?? "403").")
        }
        throw ShelfProblem(reason: "Satchel does not take it: \(error ?? "the answer is \(answer.status)")")
    }

    private func send(
        _ method: OutboundRequest.Method, _ path: String, _ body: [UInt8] = [],
        _ headers: [(name: String, value: String)] = []
    ) async throws -> OutboundResponse {
        var request = OutboundRequest(
            method, url + path,
            headers: [("X-Parse-Application-Id", applicationId), ("X-Parse-Master-Key", masterKey)], body: body,
            timeout: Self.timeout)
        request.headers += headers
        request.answerBytesMax = FileMover.bytesMax
        // Bypasses proxies, which must not see the master key.
        request.isDirect = true
        return try await http.send(request, "\(method.rawValue) \(path)")
    }
}
