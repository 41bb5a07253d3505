import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// What went wrong with files in other servers of this protocol, by the names of the advisories.
@Suite struct FileHardeningTests {
    struct Refused: Sendable, CustomTestStringConvertible {
        let advisory: String
        let name: String
        let type: String?
        let code: Int
        var body = "x"

        init(_ advisory: String, _ name: String, _ type: String?, _ code: Int, body: String = "x") {
            (self.advisory, self.name, self.type, self.code, self.body) = (advisory, name, type, code, body)
        }

        var testDescription: String { "\(advisory) \(name) \(type ?? "-")" }
    }

    static let refused = [
        Refused("GHSA-9prm-jqwx-45x9", "a.html", "text/html", 130), Refused("GHSA-9prm-jqwx-45x9", "a.htm", nil, 130),
        Refused("GHSA-9prm-jqwx-45x9", "a", "text/html", 130),
        Refused("GHSA-hcj7-6gxh-24ww", "a.svg", "image/svg+xml", 130),
        Refused("GHSA-hcj7-6gxh-24ww", "a.SVG", nil, 130),
        Refused("GHSA-v5hf-f4c3-m5rv", "a.xhtml", "application/xhtml+xml", 130),
        Refused("GHSA-v5hf-f4c3-m5rv", "a.xsl", "text/xsl", 130), Refused("GHSA-v5hf-f4c3-m5rv", "a.mht", nil, 130),
        Refused("GHSA-v5hf-f4c3-m5rv", "a.js", "text/javascript", 130),
        Refused("GHSA-42ph-pf9q-cr72", "a.png", "image/png;charset=text/html", 130),
        Refused("GHSA-42ph-pf9q-cr72", "a.svg", "image/svg+xml;charset=utf-8", 130),
        Refused("GHSA-42ph-pf9q-cr72", "a.txt", "text/plain; charset=utf-7", 130),
        Refused("GHSA-42ph-pf9q-cr72", "a.svgz", "application/octet-stream", 130),
        Refused("GHSA-vr5f-2r24-w5hc", "a.png", "text/html", 130),
        Refused("GHSA-vr5f-2r24-w5hc", "a.txt", "image/png", 130),
        Refused("GHSA-7wqv-xjf3-x35v", "a.html.", "text/html", 130),
        Refused("GHSA-7wqv-xjf3-x35v", "a.png.", "image/png", 130),
        Refused("GHSA-v8x7-r927-cc93", "a.shtml", "text/html", 130), Refused("GHSA-v8x7-r927-cc93", "a.qqq", nil, 130),
        Refused("GHSA-xw6g-jjvf-wwf9", "a.png", "image/png", 130, body: ""),
        Refused("GHSA-xw6g-jjvf-wwf9", "%00.png", "image/png", 122),
        Refused("GHSA-xw6g-jjvf-wwf9", ".png", "image/png", 122), Refused("GHSA-xw6g-jjvf-wwf9", "", "image/png", 122),
        Refused("GHSA-hm3f-q6rw-m6wh", "..%2F..%2Fcatalog.sqlite", "text/plain", 122),
        Refused("too long", String(repeating: "a", count: 129) + ".png", "image/png", 122),
    ]

    @Test(arguments: refused) func isRefused(_ upload: Refused) async throws {
        let master = ParseClient.master(try await Suite.shared)
        let answer = try await master.upload(Array(upload.body.utf8), as: upload.name, type: upload.type)
        #expect(answer.status == 400 && answer.code == upload.code, "\(answer.status) \(answer.text)")
    }

    static let bareNames: [(String, String?, String)] = [
        ("photo", "image/png", "photo.png"), ("notes", "text/plain; charset=UTF-8", "notes.txt"),
        ("blob", nil, "blob.bin"),
    ]

    /// GHSA-792q-q67h-w579: a name without an extension ended the process.
    @Test(arguments: FileHardeningTests.bareNames)
    func aNameWithoutAnExtensionGetsOne(name: String, type: String?, kept: String) async throws {
        let master = ParseClient.master(try await Suite.shared)
        let answer = try await master.upload([1], as: name, type: type)
        #expect(answer.status == 201 && answer.json.text("name").hasSuffix("_\(kept)"), "\(answer.text)")
    }

    /// Bodies that are neither of the two forms, and paths that lead out of the folder.
    @Test func malformedRequestsAreAnswered() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        for (body, code) in [
            (#"{"_ApplicationId":"satchel","_MasterKey":"\#(Suite.masterKey)"}"#, 130),
            (#"{"_ApplicationId":"satchel","_MasterKey":"\#(Suite.masterKey)","base64":1}"#, 130),
            (#"{"_ApplicationId":"satchel","_MasterKey":"\#(Suite.masterKey)","base64":"@@@"}"#, 130),
            (
                #"{"_ApplicationId":"satchel","_MasterKey":"\#(Suite.masterKey)","base64":"eA==","_ContentType":{"$ne":1}}"#,
                107
            ),
            (
                #"{"_ApplicationId":"satchel","_MasterKey":"\#(Suite.masterKey)","base64":"eA==","fileData":{"metadata":[1]}}"#,
                107
            ),
            ("{", 107),
        ] {
            let answer = try await client.send(.POST, "/files/a.txt", body: Array(body.utf8))
            #expect(answer.status == 400 && answer.code == code, "\(body): \(answer.text)")
        }
        for body in ["", "x", "[1]"] {
            #expect(try await client.send(.POST, "/files/a.txt", body: Array(body.utf8)).status == 403)
        }
        for path in [
            "..%2Fcatalog.sqlite", "..", "%2e%2e", "a%00b", String(repeating: "0", count: 32) + "_..%2Fx", "x",
        ] {
            #expect(try await client.download("/files/satchel/\(path)").status == 404, "\(path)")
        }
        #expect(try await client.download("/files").status == 404)
        // GHSA-xfh7-phr7-gr2x: keys that may not write do not; here every key but the master's.
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

    /// A page in the body of an image stays an image for every browser.
    @Test func aPolyglotIsServedAsTheImageItSaysItIs() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let content = Array("GIF89a<script>alert(1)</script>".utf8)
        let answer = try await master.upload(content, as: "a.gif", type: "image/gif")
        let download = try await master.download(master.path(of: answer.json.text("name")))
        #expect(download.headers.first(name: "content-type") == "image/gif")
        #expect(download.headers.first(name: "x-content-type-options") == "nosniff" && download.body == content)
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
