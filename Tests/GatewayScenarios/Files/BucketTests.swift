import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Files whose content is in a bucket: uploads, downloads, removal, and a bucket that is unreachable or refuses
/// requests. The bucket is moto with strict checks. Each scenario has its own suite and bucket.
@Suite(.serialized) struct BucketTests {
    private static let text = Array("0123456789".utf8)

    /// Clients get the same answers as for files on the disk, and no content is stored on the disk.
    @Test(.timeLimit(.minutes(10))) func aFileInTheBucketIsServedAsFromTheDisk() async throws {
        try await BucketPeer.with { bucket in
            let settings = ["SATCHEL_FILES_BUCKET_PREFIX": "one/two/", "SATCHEL_FILE_CACHE": "0"]
            try await Suite.with(settings: bucket.settings.merging(settings) { $1 }) { suite in
                let client = ParseClient.master(suite)
                let upload = try await client.upload(Self.text, as: "a%20b~@.txt", type: "text/plain")
                try #require(upload.status == 201, "\(upload.text)")
                let name = upload.json.text("name")
                let object = try await bucket.objects()["one/two/\(name)"]
                #expect(object?["size"] == 10)
                #expect(object?["type"] == "text/plain; charset=utf-8")
                #expect(object?["disposition"] == "inline; filename=\"a b~@.txt\"")
                let place = "\(suite.dataDirectory)/files/\(name.prefix(2))/\(name)"
                #expect(!FileManager.default.fileExists(atPath: place))

                let path = client.path(of: name).replacing(" ", with: "%20")
                let whole = try await client.download(path)
                #expect(whole.status == 200)
                #expect(whole.body == Self.text)
                #expect(whole.headers.first(name: "content-type") == "text/plain; charset=utf-8")
                #expect(whole.headers.first(name: "content-disposition") == "inline; filename=\"a b~@.txt\"")
                #expect(whole.headers.first(name: "content-security-policy")?.contains("sandbox") == true)
                for (range, status, content, contentRange) in FileTests.ranges {
                    let answer = try await client.download(path, [("Range", range)])
                    #expect(answer.status == status, "\(range)")
                    #expect(answer.text == content, "\(range)")
                    #expect(answer.headers.first(name: "content-range") == contentRange, "\(range)")
                }
                let etag = try #require(whole.headers.first(name: "etag"))
                #expect(try await client.download(path, [("If-None-Match", etag)]).status == 304)
                let head = try await client.send(.HEAD, path)
                #expect(head.headers.first(name: "content-length") == "10")

                try await Self.largeFilesComeWhole(client)
                try await Self.privateFilesStayPrivate(client)

                #expect(try await client.call(.DELETE, path.replacing("/satchel/", with: "/")).status == 200)
                #expect(try await client.download(path).status == 404)
                try await eventually("its object is removed") {
                    try await bucket.objects()["one/two/\(name)"] == nil
                }
                #expect(!suite.logTails(lines: 100_000).contains(BucketPeer.secret))
            }
        }
    }

    private static func largeFilesComeWhole(_ client: ParseClient) async throws {
        for length in [262_145, 3_000_000] {
            let content = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
            let stored = try await client.upload(content, as: "any.bin", type: "application/octet-stream")
            let path = client.path(of: stored.json.text("name"))
            #expect(try await client.download(path).body == content)
            let part = try await client.download(path, [("Range", "bytes=200000-262143")])
            #expect(part.status == 206)
            #expect(part.body == Array(content[200_000..<262_144]))
        }
    }

    private static func privateFilesStayPrivate(_ client: ParseClient) async throws {
        let stored = try await client.send(
            .POST, "/files/letter.txt",
            headers: client.credentials + [("Content-Type", "text/plain"), ("X-Satchel-File-Private", "true")],
            body: text)
        let url = stored.json.text("url")
        #expect(try await client.download(String(url.dropFirst(client.url.count))).body == text)
        #expect(try await client.download(client.path(of: stored.json.text("name"))).status == 403)
    }

    /// Uploads and downloads report that the bucket is unavailable, the rest of the shop works, and unfinished uploads
    /// leave nothing behind.
    @Test(.timeLimit(.minutes(10))) func aBucketThatIsAwayIsToldAndHarmsNothingElse() async throws {
        try await BucketPeer.with { bucket in
            let settings = bucket.settings.merging(["SATCHEL_FILE_CACHE": "0"]) { $1 }
            try await Suite.with(settings: settings) { suite in
                let client = ParseClient.master(suite)
                let before = try await client.upload(Self.text, as: "before.txt", type: "text/plain")
                try #require(before.status == 201, "\(before.text)")
                let path = client.path(of: before.json.text("name"))
                try await bucket.fail("close", times: 1_000_000)

                let upload = try await client.upload(Self.text, as: "away.txt", type: "text/plain")
                #expect(upload.status == 503, "\(upload.text)")
                #expect(upload.code == 2, "\(upload.text)")
                #expect(upload.headers.first(name: "retry-after") != nil)
                #expect(try await client.download(path).status == 503)
                try await eventually("health tells it") {
                    let health = try await client.get("/health")
                    return health.status == 200 && health["status"] == "degraded"
                        && health["services"]?["catalog"]?["status"] == "degraded"
                }
                let problem = try await client.get("/health")["services"]?["catalog"]?["problem"]?.stringValue
                #expect(problem?.contains("bucket") == true, "\(problem ?? "")")
                #expect(try await client.create("Album", ["title": "x"]).status == 201)
                #expect(try await client.call(.DELETE, "/files/\(before.json.text("name"))").status == 200)
                #expect(try await client.download(path).status == 404)

                try await bucket.heal()
                try await suite.untilHealthy()
                try await eventually("the removal was not forgotten") {
                    try await bucket.objects()[before.json.text("name")] == nil
                }
                let after = try await client.upload(Self.text, as: "after.txt", type: "text/plain")
                #expect(after.status == 201, "\(after.text)")
                #expect(try await suite.rows("catalog", "SELECT name FROM files") == [[after.json["name"] ?? .null]])
                // The cleanup is due in an hour; this moves it to now.
                try await suite.tamper("catalog", "UPDATE bucketDrops SET dueAt = 0")
                try await suite.restart("catalog-1")
                try await eventually("nothing is left of the upload that failed") {
                    try await suite.rows("catalog", "SELECT 1 FROM bucketDrops").isEmpty
                }
                #expect(try await bucket.objects().keys.sorted() == [after.json.text("name")])
            }
        }
    }

    /// Short failures of the bucket do not reach the client.
    @Test(.timeLimit(.minutes(10))) func aBusyBucketIsAskedAgain() async throws {
        try await BucketPeer.with { bucket in
            let settings = bucket.settings.merging(["SATCHEL_FILE_CACHE": "0"]) { $1 }
            try await Suite.with(settings: settings) { suite in
                let client = ParseClient.master(suite)
                for how in ["503", "close", "half"] {
                    try await bucket.fail(how, method: "PUT", times: 2)
                    let upload = try await client.upload(Self.text, as: "a.txt", type: "text/plain")
                    #expect(upload.status == 201, "\(how): \(upload.text)")
                    try await bucket.heal()
                    try await bucket.fail(how, method: "GET", times: 2)
                    let download = try await client.download(client.path(of: upload.json.text("name")))
                    #expect(download.body == Self.text, "\(how): \(download.status)")
                    try await bucket.heal()
                }
                // The bucket stores other content than it was given, so the upload is not acknowledged.
                try await bucket.fail("corrupt", method: "PUT")
                let changed = try await client.upload(Self.text, as: "b.txt", type: "text/plain")
                #expect(changed.status == 400, "\(changed.text)")
                #expect(changed.code == 130, "\(changed.text)")
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func wrongKeysAreSaid() async throws {
        try await BucketPeer.with { bucket in
            let wrong = "wrong-secret-77aa10"
            let settings = bucket.settings.merging(["SATCHEL_FILES_BUCKET_SECRET": wrong]) { $1 }
            try await Suite.with(settings: settings) { suite in
                let client = ParseClient.master(suite)
                try await eventually("health tells it") {
                    let problem = try await client.get("/health")["services"]?["catalog"]?["problem"]?.stringValue
                    return problem?.contains("SignatureDoesNotMatch") == true
                }
                let upload = try await client.upload(Self.text, as: "a.txt", type: "text/plain")
                #expect(upload.code == 130, "\(upload.text)")
                #expect(!suite.logTails(lines: 100_000).contains(wrong))
                let shown = try await client.get("/operations/settings").text
                #expect(shown.contains("SATCHEL_FILES_BUCKET_SECRET"))
                #expect(!shown.contains(wrong))
            }
        }
    }

    /// `scripts/verify` lists the bucket of a running shop. Without the shop it reports the bucket as not checked.
    @Test(.timeLimit(.minutes(10))) func theBooksCompareTheBucketWithTheFiles() async throws {
        try await BucketPeer.with { bucket in
            let settings = bucket.settings.merging(["SATCHEL_FILES_BUCKET_PREFIX": "shop/"]) { $1 }
            try await Suite.with(settings: settings) { suite in
                let client = ParseClient.master(suite)
                var names: [String] = []
                for name in ["a.txt", "b%20c.txt"] {
                    let upload = try await client.upload(Self.text, as: name, type: "text/plain")
                    try #require(upload.status == 201, "\(upload.text)")
                    names.append(upload.json.text("name"))
                }
                // Objects of others.
                try await bucket.put("shop/notes.txt", "x")
                try await bucket.put("elsewhere/\(names[0])", "x")
                try await eventually("the books are clean", within: .seconds(120)) {
                    (try? await suite.script("verify")) != nil
                }

                let orphan = String(repeating: "ab", count: 16) + "_orphan.txt"
                try await bucket.put("shop/\(orphan)", "x")
                try await bucket.remove("shop/\(names[0])")
                let wrong = try await Self.problem { try await suite.script("verify") }
                for text in ["ended with 1", "\(names[0])  It is not in", "\(orphan)  It has no row."] {
                    #expect(wrong.contains(text), "\(text): \(wrong)")
                }

                try await bucket.fail("403", method: "GET", times: 1_000_000)
                let unseen = try await Self.problem { try await suite.script("verify") }
                for text in ["ended with 2", "Not checked: the bucket of files.", "AccessDenied"] {
                    #expect(unseen.contains(text), "\(text): \(unseen)")
                }
                #expect(try await client.get("/health")["services"]?["catalog"]?["status"] == "ok")
                try await bucket.heal()
                guard Suite.keepsFiles else { return }
                let backup = NSTemporaryDirectory() + "backup-\(Names.random(10))"
                defer { try? FileManager.default.removeItem(atPath: backup) }
                _ = try await suite.script("backup", backup)
                let kept = try await Self.problem { try await suite.script("verify", "--backup", backup) }
                for text in ["ended with 2", "Not checked: the bucket of files. It should have 2 files."] {
                    #expect(kept.contains(text), "\(text): \(kept)")
                }
            }
        }
    }

    /// The output of a command that fails.
    private static func problem(_ run: () async throws -> String) async throws -> String {
        let failed = await #expect(throws: Command.Failed.self) { try await run() }
        return try #require(failed).description
    }

    /// The gateway checks the rights to a file before it redirects a client to the bucket.
    @Test(.timeLimit(.minutes(10))) func presignedDownloadsLeadToTheBucket() async throws {
        try await BucketPeer.with { bucket in
            let settings = bucket.settings.merging(["SATCHEL_FILES_BUCKET_DOWNLOADS": "presigned"]) { $1 }
            try await Suite.with(settings: settings) { suite in
                let client = ParseClient.master(suite)
                let upload = try await client.upload(Self.text, as: "a%20b.txt", type: "text/plain")
                try #require(upload.status == 201, "\(upload.text)")
                let path = client.path(of: upload.json.text("name")).replacing(" ", with: "%20")
                for headers in [[], [("Range", "bytes=2-4")]] as [[(String, String)]] {
                    let answer = try await client.download(path, headers)
                    #expect(answer.status == 302, "\(headers)")
                    #expect(answer.body.isEmpty, "\(headers)")
                    #expect(answer.headers.first(name: "cache-control") == "no-store", "\(headers)")
                    let url = try #require(answer.headers.first(name: "location"))
                    let file = try await bucket.fetch(url, headers)
                    #expect(file.status == (headers.isEmpty ? 200 : 206), "\(url)")
                    #expect(file.text == (headers.isEmpty ? "0123456789" : "234"), "\(url)")
                    #expect(file.headers.first(name: "content-disposition") == "inline; filename=\"a b.txt\"", "\(url)")
                    let other = url.replacing("a%20b.txt?", with: "c%20d.txt?")
                    #expect(try await bucket.fetch(other, headers).status == 403, "\(other)")
                }
                let head = try await client.send(.HEAD, path)
                #expect(head.status == 200)
                #expect(head.headers.first(name: "content-length") == "10")

                let letter = try await client.send(
                    .POST, "/files/letter.txt",
                    headers: client.credentials + [("Content-Type", "text/plain"), ("X-Satchel-File-Private", "true")],
                    body: Self.text)
                let signed = String(letter.json.text("url").dropFirst(client.url.count))
                #expect(try await client.download(signed).status == 302)
                let refused = try await client.download(client.path(of: letter.json.text("name")))
                #expect(refused.status == 403)
                #expect(refused.headers.first(name: "location") == nil)
            }
        }
    }
}
