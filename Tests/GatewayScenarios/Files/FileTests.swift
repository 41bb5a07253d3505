import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Files over HTTP: both forms of upload and every kind of download.
@Suite struct FileTests {
    private static let text = Array("0123456789".utf8)

    private static func uploaded(_ suite: Suite) async throws -> (client: ParseClient, name: String) {
        let client = try await Customer.signUp(suite).client
        let answer = try await client.upload(text, as: "digits.txt", type: "text/plain")
        guard answer.status == 201 else { throw Unexpected("POST files", answer) }
        return (client, answer.json.text("name"))
    }

    /// The upload form of the PHP SDK, and the headers of every download.
    @Test func aRawUploadIsServedAsItCame() async throws {
        let suite = try await Suite.shared
        let (client, name) = try await Self.uploaded(suite)
        #expect(name.hasSuffix("_digits.txt"))
        #expect(name.count == 32 + "_digits.txt".count)
        let answer = try await client.download(client.path(of: name))
        #expect(answer.status == 200)
        #expect(answer.body == Self.text)
        #expect(answer.headers.first(name: "content-type") == "text/plain; charset=utf-8")
        #expect(answer.headers.first(name: "x-content-type-options") == "nosniff")
        #expect(answer.headers.first(name: "content-security-policy")?.contains("sandbox") == true)
        #expect(answer.headers.first(name: "cache-control")?.contains("immutable") == true)
        #expect(answer.headers.first(name: "content-disposition") == "inline; filename=\"digits.txt\"")
        #expect(answer.headers["content-type"].count == 1)
        var hosted = client
        hosted.url = client.url.replacingOccurrences(of: "/parse", with: "/1")
        #expect(try await hosted.download(client.path(of: name)).body == Self.text)
        #expect(try await hosted.upload(Self.text, as: "a.txt", type: "text/plain").status == 201)
    }

    /// The exact bytes that the JavaScript SDK sends.
    @Test func javaScriptUploadsInABody() async throws {
        let suite = try await Suite.shared
        let token = try await Customer.signUp(suite).client.sessionToken ?? ""
        let client = ParseClient(suite)
        let body =
            #"""
            {"base64":"aGVsbG8=","_ContentType":"image/png","fileData":{"metadata":{"by":"ann"},"tags":{}},\#
            "_ApplicationId":"satchel","_JavaScriptKey":"js","_ClientVersion":"js5.3.0","_InstallationId":"abc",\#
            "_SessionToken":"\#(token)"}
            """#
        let answer = try await client.send(
            .POST, "/files/profile.png", headers: [("Content-Type", "text/plain")], body: Array(body.utf8))
        #expect(answer.status == 201, "\(answer.text)")
        let (name, url) = (answer.json.text("name"), answer.json.text("url"))
        #expect(url == "\(suite.url)/files/satchel/\(name)")
        #expect(answer.headers.first(name: "location") == url)
        let download = try await client.download(client.path(of: name))
        #expect(download.text == "hello")
        #expect(download.headers.first(name: "content-type") == "image/png")
        let metadata = try await client.download("/files/satchel/metadata/\(name)")
        #expect(metadata.json == ["metadata": ["by": "ann"]])
        #expect(try await client.download("/files/other/metadata/\(name)").status == 403)
    }

    /// The requested range, and the expected status, bytes and `Content-Range`.
    static let ranges: [(String, Int, String, String?)] = [
        ("bytes=0-3", 206, "0123", "bytes 0-3/10"), ("bytes=4-", 206, "456789", "bytes 4-9/10"),
        ("bytes=-3", 206, "789", "bytes 7-9/10"), ("bytes=-99", 206, "0123456789", "bytes 0-9/10"),
        ("bytes=8-99", 206, "89", "bytes 8-9/10"), ("bytes=9-9", 206, "9", "bytes 9-9/10"),
        ("bytes=10-", 416, "", "bytes */10"), ("bytes=5-2", 416, "", "bytes */10"), ("bytes=-0", 416, "", "bytes */10"),
        ("bytes=a-b", 416, "", "bytes */10"), ("bytes=", 416, "", "bytes */10"), ("bytes=--1", 416, "", "bytes */10"),
        ("bytes=99999999999999999999-", 416, "", "bytes */10"),
        ("bytes=0-99999999999999999999", 206, "0123456789", "bytes 0-9/10"),
        ("bytes=0-1,3-4", 200, "0123456789", nil), ("lines=0-1", 200, "0123456789", nil),
    ]

    /// A file of another server keeps the name that values and old addresses have. Only the master key may say so.
    @Test func aMovedFileKeepsItsStoredName() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        func move(
            _ name: String, _ client: ParseClient, _ more: [(String, String)] = []
        ) async throws -> ParseClient.Answer {
            let headers = [
                ("Content-Type", "application/octet-stream"), ("X-Satchel-File-Moved", "true"),
                ("X-Parse-Upload-Mode", "stream"), ("X-Parse-File-Metadata", #"{"sha256":"ab"}"#),
            ]
            return try await client.send(
                .POST, "/files/\(name.replacing(" ", with: "%20"))", headers: client.credentials + headers + more,
                body: Self.text)
        }
        let digits = Hex.random(bytes: 16)
        for name in ["\(digits)_an old.txt", "\(digits)_without"] {
            let answer = try await move(name, master)
            #expect(answer.status == 201, "\(answer.text)")
            #expect(answer.json.text("name") == name)
            let path = name.replacing(" ", with: "%20")
            #expect(try await master.download("/files/satchel/\(path)").body == Self.text)
            let metadata = try await master.download("/files/satchel/metadata/\(path)")
            #expect(metadata.json == ["metadata": ["sha256": "ab"]])
        }
        for name in ["short.txt", "\(digits)-private.txt", "\(digits)_~photo.txt", "\(digits)_page.html"] {
            #expect(try await move(name, master).status == 400, "\(name)")
        }
        #expect(try await move("\(digits)_b.txt", master, [("X-Satchel-File-Private", "true")]).code == 122)
        let customer = try await Customer.signUp(suite).client
        #expect(try await move("\(digits)_b.txt", customer).code == 119)
        #expect(try await master.download("/files/satchel/\(digits)_b.txt").status == 404)
    }

    /// GHSA-h423-w6qv-2wj3: an invalid range crashed the process.
    @Test func everyRangeHasItsAnswer() async throws {
        let (client, name) = try await Self.uploaded(try await Suite.shared)
        for (range, status, content, contentRange) in Self.ranges {
            let answer = try await client.download(client.path(of: name), [("Range", range)])
            #expect(answer.status == status, "\(range): \(answer.status)")
            #expect(answer.text == content, "\(range): \(answer.status)")
            #expect(answer.headers.first(name: "content-range") == contentRange, "\(range): \(answer.status)")
        }
    }

    /// Up to one part is sent at once; a longer file is sent part by part.
    @Test(arguments: [1, 100_000, 262_144, 262_145, 700_000])
    func aFileOfAnyLengthComesWhole(_ length: Int) async throws {
        let client = ParseClient.master(try await Suite.shared)
        let content = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
        let stored = try await client.upload(content, as: "any.bin", type: "application/octet-stream")
        let path = client.path(of: stored.json.text("name"))
        // The second download uses a connection that already had such an answer.
        for _ in 0..<2 {
            let answer = try await client.download(path)
            #expect(answer.status == 200)
            #expect(answer.body == content)
            #expect(answer.headers.first(name: "content-length") == String(length))
        }
        #expect(try await client.download(path, [("Range", "bytes=0-")]).body == content)
    }

    @Test func aVersionThatIsKnownIsNotSentAgain() async throws {
        let (client, name) = try await Self.uploaded(try await Suite.shared)
        let path = client.path(of: name)
        let etag = try #require(try await client.download(path).headers.first(name: "etag"))
        for known in [etag, "W/\(etag)", "\"x\", \(etag)", "*"] {
            let answer = try await client.download(path, [("If-None-Match", known)])
            #expect(answer.status == 304)
            #expect(answer.body.isEmpty)
            #expect(answer.headers.first(name: "etag") == etag)
        }
        #expect(try await client.download(path, [("If-None-Match", "\"x\"")]).body == Self.text)
        let part = try await client.download(path, [("Range", "bytes=0-1"), ("If-Range", etag)])
        #expect(part.status == 206)
        #expect(part.text == "01")
        let other = try await client.download(path, [("Range", "bytes=0-1"), ("If-Range", "\"x\"")])
        #expect(other.status == 200)
        #expect(other.body == Self.text)
        let head = try await client.send(.HEAD, path)
        #expect(head.status == 200)
        #expect(head.body.isEmpty)
        #expect(head.headers.first(name: "content-length") == "10")
        #expect(head.headers.first(name: "etag") == etag)
        #expect(try await client.send(.HEAD, "/health").status == 200)
    }

    @Test func onlyTheMasterKeyRemovesAFile() async throws {
        let suite = try await Suite.shared
        let (client, name) = try await Self.uploaded(suite)
        #expect(try await client.call(.DELETE, "/files/\(name)").status == 403)
        let master = ParseClient.master(suite)
        let removed = try await master.call(.DELETE, "/files/\(name)")
        #expect(removed.status == 200)
        #expect(removed.json == [:])
        #expect(try await master.call(.DELETE, "/files/\(name)").code == 153)
        // GHSA-hpm8-9qx6-jvwv: ranges and metadata are refused if the whole file is.
        for (path, headers) in [
            (client.path(of: name), []), (client.path(of: name), [("Range", "bytes=0-1")]),
            ("/files/satchel/metadata/\(name)", []),
        ] as [(String, [(String, String)])] {
            let answer = try await client.download(path, headers)
            #expect(answer.status == 404, "\(path)")
            #expect(answer.text == "File not found.", "\(path)")
        }
    }

    @Test func tenMegabytesTravelBothWaysIntact() async throws {
        let suite = try await Suite.shared
        let client = try await Customer.signUp(suite).client
        var random = SystemRandomNumberGenerator()
        let content = (0..<(10 << 20) / 8).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
        let answer = try await client.upload(content, as: "big.bin", type: "application/octet-stream")
        #expect(answer.status == 201, "\(answer.text)")
        let download = try await client.download(client.path(of: answer.json.text("name")))
        #expect(download.body == content)
        #expect(download.headers.first(name: "content-disposition") == "attachment; filename=\"big.bin\"")
        let part = try await client.download(
            client.path(of: answer.json.text("name")), [("Range", "bytes=1000000-3999999")])
        #expect(part.status == 206)
        #expect(part.body == Array(content[1_000_000..<4_000_000]))
        let tooLarge = try await client.upload(content + [0], as: "big.bin", type: "application/octet-stream")
        #expect(tooLarge.status == 413, "\(tooLarge.text)")
        #expect(tooLarge.code == 129, "\(tooLarge.text)")
        let tunnelled: JSON = [
            "base64": .string(Data(content).base64EncodedString()), "_ApplicationId": "satchel",
            "_SessionToken": .string(client.sessionToken ?? ""),
        ]
        let inBody = try await client.send(
            .POST, "/files/big.bin", headers: [("Content-Type", "text/plain")], body: tunnelled.serialized)
        #expect(inBody.status == 201, "\(inBody.text.prefix(200))")
        #expect(try await client.download(client.path(of: inBody.json.text("name"))).body == content)
    }

    /// A client identifies a File by its name. The server generates the url, wherever the File occurs.
    @Test func filesInObjectsGetTheirURLs() async throws {
        let suite = try await Suite.shared
        let (client, name) = try await Self.uploaded(suite)
        let className = "Album\(Names.random(6))"
        // #10044: a File's url could point at any host.
        let evil: JSON = ["__type": "File", "name": .string(name), "url": "https://evil.example/x"]
        let saved = try await client.create(
            className, ["cover": evil, "pages": [["picture": evil]], "note": "{\"__type\":\"File\"}"])
        #expect(saved.status == 201, "\(saved.text)")
        let file: JSON = [
            "__type": "File", "name": .string(name), "url": .string("\(suite.url)/files/satchel/\(name)"),
        ]
        let stored = try await client.get("/classes/\(className)/\(saved.objectId)")
        #expect(stored["cover"] == file)
        #expect(stored["pages"] == [["picture": file]])
        #expect(stored["note"] == "{\"__type\":\"File\"}")
        #expect(try await client.find(className, ["cover": file]).results.map { $0["cover"] } == [file])
        // File values without a url crashed hooks (2026-109301). Names that Satchel did not generate get no url.
        let odd = try await client.create(className, ["cover": .file("a\"b/ü.png")])
        #expect(try await client.get("/classes/\(className)/\(odd.objectId)")["cover"] == .file("a\"b/ü.png"))
        let me = try await client.get("/users/me")
        #expect(try await client.call(.PUT, "/users/\(me.objectId)", ["photo": evil]).status == 200)
        #expect(try await client.get("/users/me")["photo"] == file)
    }
}
