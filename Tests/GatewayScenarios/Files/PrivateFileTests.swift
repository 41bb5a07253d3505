import ParseProtocol
import TestSupport
import Testing

/// Files that require a signed URL.
@Suite struct PrivateFileTests {
    private static let content = Array("for you".utf8)

    private static func upload(
        _ suite: Suite, private isPrivate: Bool = true
    ) async throws -> (name: String, path: String) {
        let customer = try await Customer.signUp(suite).client
        let answer = try await customer.send(
            .POST, "/files/letter.txt",
            headers: customer.credentials + [("Content-Type", "text/plain")]
                + (isPrivate ? [("X-Satchel-File-Private", "true")] : []),
            body: content)
        guard answer.status == 201, let name = answer["name"]?.stringValue, let url = answer["url"]?.stringValue else {
            throw Unexpected("POST /files/letter.txt", answer)
        }
        return (name, String(url.dropFirst(suite.url.count)))
    }

    @Test func onlyASignedURLOpensAPrivateFile() async throws {
        let suite = try await Suite.shared
        let anyone = ParseClient(suite)
        let (name, path) = try await Self.upload(suite)
        let opened = try await anyone.send(.GET, path)
        #expect(opened.status == 200)
        #expect(opened.body == Self.content)
        for address in [
            "/files/satchel/\(name)", "/files/satchel/metadata/\(name)", path + "0",
            path.replacing("expires=", with: "expires=1"),
        ] {
            #expect(try await anyone.send(.GET, address).status == 403, "\(address)")
        }
        // A missing file gets the same refusal as an existing one.
        let unknown = FileNames.storedName("letter.txt", isPrivate: true)
        #expect(try await anyone.send(.GET, "/files/satchel/\(unknown)").status == 403)
        let (_, open) = try await Self.upload(suite, private: false)
        #expect(try await anyone.send(.GET, open).status == 200)
        #expect(!open.contains("signature"))
    }

    /// As JavaScript clients upload.
    @Test func aFileInJSONIsPrivateByItsData() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite).client
        let body: JSON = [
            "base64": "Zm9yIHlvdQ==", "_ContentType": "text/plain", "_ApplicationId": "satchel",
            "_SessionToken": .string(customer.sessionToken ?? ""), "fileData": ["private": true],
        ]
        let answer = try await customer.send(
            .POST, "/files/letter.txt", headers: [("Content-Type", "text/plain")], body: body.serialized)
        let name = try #require(answer["name"]?.stringValue)
        #expect(try await customer.send(.GET, "/files/satchel/\(name)").status == 403)
    }

    /// A client that learned a name must not get a signed URL by saving the File and reading it back.
    @Test func anObjectsAnswerSignsNothing() async throws {
        let suite = try await Suite.shared
        let (name, _) = try await Self.upload(suite)
        let stranger = try await Customer.signUp(suite).client
        let saved = try await stranger.create("Letter", ["file": ["__type": "File", "name": .string(name)]])
        let seen = try await stranger.get("/classes/Letter/\(saved.objectId)")
        #expect(seen["file"]?["name"] == .string(name), "\(seen.text)")
        #expect(!seen.text.contains("signature"), "\(seen.text)")
    }

    @Test func theMasterKeySignsForWhomItLikes() async throws {
        let suite = try await Suite.shared
        let (name, _) = try await Self.upload(suite)
        let signed = try await ParseClient.master(suite).get("/files/satchel/url/\(name)", ["seconds": 60])
        let url = try #require(signed["url"]?.stringValue, "\(signed.text)")
        #expect(try await ParseClient(suite).send(.GET, String(url.dropFirst(suite.url.count))).body == Self.content)
        let customer = try await Customer.signUp(suite).client
        #expect(try await customer.get("/files/satchel/url/\(name)").status == 403)
        for seconds in ["0", "604801", "x", "-1"] {
            let refused = try await ParseClient.master(suite).get(
                "/files/satchel/url/\(name)", ["seconds": .string(seconds)])
            #expect(refused.code == 102, "\(seconds)")
        }
    }

    @Test func theKeyIsForItsUserAlone() async throws {
        let suite = try await Suite.shared
        let mode = try await Command.run(["stat", "-c", "%a", "\(suite.dataDirectory)/files.key"])
        #expect(mode.hasPrefix("600"))
    }
}
