import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Other servers' file advisories, named in the tests; `FileAdvisoryTests` has more.
@Suite struct FileHardeningTests {
    static let bareNames: [(String, String?, String)] = [
        ("photo", "image/png", "photo.png"), ("notes", "text/plain; charset=UTF-8", "notes.txt"),
        ("blob", nil, "blob.bin"),
    ]

    /// GHSA-792q-q67h-w579: a name without an extension crashed the process.
    @Test(arguments: FileHardeningTests.bareNames)
    func aNameWithoutAnExtensionGetsOne(name: String, type: String?, kept: String) async throws {
        let master = ParseClient.master(try await Suite.shared)
        let answer = try await master.upload([1], as: name, type: type)
        #expect(answer.status == 201, "\(answer.text)")
        #expect(answer.json.text("name").hasSuffix("_\(kept)"), "\(answer.text)")
    }

    /// Bodies in neither of the two forms, and paths that escape the folder.
    @Test func malformedRequestsAreAnswered() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        for (body, code) in [
            (#"{"_ApplicationId":"satchel","_MasterKey":"\#(Suite.masterKey)"}"#, 130),
            (#"{"_ApplicationId":"satchel","_MasterKey":"\#(Suite.masterKey)","base64":1}"#, 130),
            (#"{"_ApplicationId":"satchel","_MasterKey":"\#(Suite.masterKey)","base64":"@@@"}"#, 130),
            (
                #"""
                {"_ApplicationId":"satchel","_MasterKey":"\#(Suite.masterKey)","base64":"eA==","_ContentType":{"$ne":1}}
                """#,
                107
            ),
            (
                #"""
                {"_ApplicationId":"satchel","_MasterKey":"\#(Suite.masterKey)","base64":"eA==",\#
                "fileData":{"metadata":[1]}}
                """#,
                107
            ),
            ("{", 107),
        ] {
            let answer = try await client.send(.POST, "/files/a.txt", body: Array(body.utf8))
            #expect(answer.status == 400, "\(body): \(answer.text)")
            #expect(answer.code == code, "\(body): \(answer.text)")
        }
        for body in ["", "x", "[1]"] {
            #expect(try await client.send(.POST, "/files/a.txt", body: Array(body.utf8)).status == 403)
        }
        for path in [
            "..%2Fcatalog.sqlite", "..", "%2e%2e", "a%00b", String(repeating: "0", count: 32) + "_..%2Fx", "x",
        ] {
            #expect(try await client.download("/files/satchel/\(path)").status == 404, "\(path)")
        }
        // Requests other than downloads require keys.
        #expect(try await client.download("/files").status == 403)
        #expect(try await client.get("/files").status == 404)
        // GHSA-xfh7-phr7-gr2x: read-only keys cannot write files; here only the master key may.
        #expect(
            try await client.send(
                .POST, "/files/a.txt",
                headers: [("X-Parse-Application-Id", "satchel"), ("X-Parse-Master-Key", "wrong")], body: [1]
            ).status
                == 403)
        let batch = try await ParseClient.master(suite).call(
            .POST, "/batch",
            ["requests": [["method": "POST", "path": "/parse/files/a.txt", "body": ["base64": "eA=="]]]])
        #expect(batch.json.at(0, "error", "code") == 108, "\(batch.text)")
        #expect(try await client.get("/health").status == 200)
    }

    /// A page in the body of an image is still treated as an image by every browser.
    @Test func aPolyglotIsServedAsTheImageItSaysItIs() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let content = Array("GIF89a<script>alert(1)</script>".utf8)
        let answer = try await master.upload(content, as: "a.gif", type: "image/gif")
        let download = try await master.download(master.path(of: answer.json.text("name")))
        #expect(download.headers.first(name: "content-type") == "image/gif")
        #expect(download.headers.first(name: "x-content-type-options") == "nosniff")
        #expect(download.body == content)
        let product = try await master.create(
            "Product", ["name": "P", "unitPrice": 1, "fullsizeImage": .file(answer.json.text("name"))])
        #expect(product.code == 150, "\(product.text)")
    }

    @Test func onlySignedInUsersUpload() async throws {
        let suite = try await Suite.shared
        #expect(try await ParseClient(suite).upload([1], as: "a.txt", type: "text/plain").code == 130)
        let anonymous = try await Customer.anonymous(suite).client
        #expect(try await anonymous.upload([1], as: "a.txt", type: "text/plain").code == 130)
    }
}
