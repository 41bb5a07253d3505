import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Malicious requests for files, and malicious File values: each gets an answer, and every download route applies the
/// same checks.
@Suite struct FileRequestAdvisoryTests {
    private static let text = Array("0123456789".utf8)

    /// An existing file, and a client that may upload.
    private static func uploaded(_ suite: Suite) async throws -> (client: ParseClient, name: String) {
        let client = try await Customer.signUp(suite).client
        let answer = try await client.upload(text, as: "digits.txt", type: "text/plain")
        guard answer.status == 201 else { throw Unexpected("POST files", answer) }
        return (client, answer.json.text("name"))
    }

    /// Every kind of download: complete, ranges, conditional, HEAD, metadata, under both mounts.
    private static func answers(
        _ client: ParseClient, application: String, _ name: String
    ) async throws -> [(what: String, answer: ParseClient.Answer)] {
        var hosted = client
        hosted.url = client.url.replacingOccurrences(of: "/parse", with: "/1")
        var answers: [(String, ParseClient.Answer)] = []
        for client in [client, hosted] {
            for path in ["/files/\(application)/\(name)", "/files/\(application)/metadata/\(name)"] {
                for headers in [
                    [], [("Range", "bytes=0-1")], [("Range", "bytes=0-")], [("Range", "bytes=-1"), ("If-Range", "*")],
                    [("If-None-Match", "*")], [("If-None-Match", "\"\(name.prefix(32))\"")],
                ] as [[(String, String)]] {
                    answers.append(("GET \(path) \(headers)", try await client.download(path, headers)))
                }
                answers.append(("HEAD \(path)", try await client.send(.HEAD, path)))
            }
        }
        return answers
    }

    private func expectThatEveryWayAsksTheSame(_ isThisWay: (String) -> Bool) async throws {
        let suite = try await Suite.shared
        let (client, name) = try await Self.uploaded(suite)
        for (what, answer) in try await Self.answers(client, application: "satchel", name) where isThisWay(what) {
            #expect([200, 206, 304].contains(answer.status), "\(what): \(answer.status)")
        }
        for (what, answer) in try await Self.answers(client, application: "other", name) where isThisWay(what) {
            #expect(answer.status == 403, "\(what): \(answer.status)")
            #expect(answer.headers.first(name: "etag") == nil, "\(what): \(answer.status)")
        }
        let unknown = String(repeating: "0", count: 32) + "_digits.txt"
        #expect(try await ParseClient.master(suite).call(.DELETE, "/files/\(name)").status == 200)
        for name in [unknown, name] {
            for (what, answer) in try await Self.answers(client, application: "satchel", name) where isThisWay(what) {
                #expect(answer.status == 404, "\(what): \(answer.status)")
                #expect(!answer.text.contains("0123"), "\(what): \(answer.status)")
            }
        }
    }

    @Test("2026-30850: metadata is refused where the file is")
    func advisory2026_30850_metadataIsRefusedWhereTheFileIs() async throws {
        try await expectThatEveryWayAsksTheSame { $0.contains("/metadata/") }
    }

    @Test("2026-34784: parts of a file are refused where the whole is")
    func advisory2026_34784_partsAreRefusedWhereTheWholeIs() async throws {
        try await expectThatEveryWayAsksTheSame { !$0.contains("/metadata/") }
    }

    /// Hooks on files would have to run on all these routes. Satchel has none and refuses to register them.
    @Test("2026-30850, 2026-34784: no hook on files can be registered that a download would pass by")
    func advisory2026_30850_noHookOnFilesIsPromised() async throws {
        let master = ParseClient.master(try await Suite.shared)
        for trigger in ["beforeFind", "afterFind", "beforeSave", "afterSave", "beforeDelete"] {
            for className in ["@File", "@file", "_File", "File%"] {
                let answer = try await master.call(
                    .POST, "/hooks/triggers",
                    [
                        "className": .string(className), "triggerName": .string(trigger),
                        "url": "http://127.0.0.1:9/hook",
                    ])
                #expect(answer.status == 400, "\(className) \(trigger): \(answer.text)")
            }
        }
    }

    @Test("2022-31089: malformed requests about files are answered and end nothing")
    func advisory2022_31089_malformedRequestsEndNothing() async throws {
        let suite = try await Suite.shared
        let pulse = try await suite.pulse()
        let (client, name) = try await Self.uploaded(suite)
        let long = String(repeating: "a", count: 3000)
        for path in [
            "", "/", "//", "/satchel", "/satchel/", "/satchel//", "/satchel/%", "/satchel/%ZZ", "/satchel/%00",
            "/satchel/%ff%fe", "/satchel/..", "/satchel/..%2f..%2fcatalog.sqlite", "/satchel/%2e%2e/\(name)",
            "/satchel/\(long)", "/satchel/\(name)%00", "/satchel/\(name)/", "/satchel/\(name)/more",
            "/satchel/metadata",
            "/satchel/metadata/", "/satchel/metadata/\(long)", "/satchel/metadata/metadata/\(name)", "/%00/\(name)",
            "/satchel/\(name.prefix(33))", "/satchel/\(name.uppercased())", "/a/b/c/d/e/f",
        ] {
            for method in [HTTPMethod.GET, .HEAD, .DELETE, .PUT, .POST] {
                let answer = try await client.send(
                    method, "/files\(path)", headers: client.credentials, body: method == .POST ? [] : nil)
                let isTheFile = path == "/satchel/\(name)/" && (method == .GET || method == .HEAD)
                #expect(
                    isTheFile ? answer.status == 200 : (400..<500).contains(answer.status),
                    "\(method) \(path): \(answer.status)")
            }
        }
        for body in [
            "", "x", "{", "[]", "null", "{}", #"{"base64":null}"#, #"{"base64":{"$ne":1}}"#, #"{"base64":["eA=="]}"#,
            #"{"base64":"@@"}"#, #"{"base64":""}"#, #"{"base64":"eA==","_ContentType":7}"#,
            #"{"base64":"eA==","fileData":[]}"#, #"{"base64":"eA==","fileData":{"metadata":"x"}}"#,
        ] {
            var text = body
            if text.hasPrefix("{"), text.count > 1 {
                let comma = text == "{}" ? "" : ","
                text = #"{"_ApplicationId":"satchel","_MasterKey":"\#(Suite.masterKey)"\#(comma)"# + text.dropFirst()
            }
            let answer = try await ParseClient(suite).send(.POST, "/files/a.txt", body: Array(text.utf8))
            // A `fileData` that is not an object is ignored.
            let isTaken = body.contains(#""fileData":[]"#)
            #expect(isTaken || (400..<500).contains(answer.status), "\(body): \(answer.status) \(answer.text)")
        }
        for way in UploadWay.allCases {
            for (bad, content, code) in [
                ("a.png", [], 130), ("%00.png", [1], 122), ("a%00.png", [1], 122),
                ("..%2F..%2Fcatalog.sqlite", [1], 122),
                ("a%2Fb.png", [1], 122), ("\(String(repeating: "a", count: 125)).png", [1], 122),
            ] as [(String, [UInt8], Int)] {
                let answer = try await client.upload(way, content, as: bad, type: "image/png")
                #expect(answer.status == 400, "\(way) \(bad): \(answer.text)")
                #expect(answer.code == code, "\(way) \(bad): \(answer.text)")
            }
        }
        #expect(try await client.download(client.path(of: name)).body == Self.text)
        #expect(try await suite.pulse() == pulse)
    }

    @Test("2022-39313: no byte range ends the process or brings bytes that are not there")
    func advisory2022_39313_badRangesEndNothing() async throws {
        let suite = try await Suite.shared
        let pulse = try await suite.pulse()
        let (client, name) = try await Self.uploaded(suite)
        let path = client.path(of: name)
        for range in [
            "bytes", "bytes=", "bytes=-", "bytes=--", "bytes=--1", "bytes=-0", "bytes=0--1", "bytes=1-0", "bytes=a-b",
            "bytes=0x1-2", "bytes=+1-2", "bytes=1e1-", "bytes=10-", "bytes=10-11", "bytes=18446744073709551616-",
            "bytes=9223372036854775807-", "bytes=9223372036854775807-9223372036854775807",
            "bytes=-9223372036854775808", "bytes=0-18446744073709551615", "bytes=-18446744073709551616",
            "bytes=\(String(repeating: "9", count: 4000))-", "bytes=0-0,-1", "bytes=0-0,0-0,0-0", "bytes=,",
            "bytes= 0 - 0 ",
            "items=0-1", "=0-1", "0-1", "bytes:0-1", "BYTES=0-0", "bytes=\u{661}-\u{662}", "none", "",
        ] {
            for extra in [
                [], [("If-Range", "\"\(name.prefix(32))\"")], [("If-Range", "Wed, 21 Oct 2015 07:28:00 GMT")],
            ]
                as [[(String, String)]]
            {
                for method in [HTTPMethod.GET, .HEAD] {
                    let answer = try await client.send(method, path, headers: [("Range", range)] + extra)
                    #expect([200, 206, 416].contains(answer.status), "\(range): \(answer.status)")
                    if answer.status == 200, method == .GET { #expect(answer.body == Self.text) }
                    if answer.status == 206, method == .GET {
                        #expect(!answer.body.isEmpty, "\(range): \(answer.text)")
                        #expect("0123456789".contains(answer.text), "\(range): \(answer.text)")
                    }
                }
            }
        }
        let part = try await client.download(path, [("Range", "bytes=2-4")])
        #expect(part.status == 206)
        #expect(part.text == "234")
        #expect(try await suite.pulse() == pulse)
    }

    @Test("2023-46119: names without an extension get one or are refused")
    func advisory2023_46119_namesWithoutAnExtensionEndNothing() async throws {
        let suite = try await Suite.shared
        let pulse = try await suite.pulse()
        let client = try await Customer.signUp(suite).client
        for way in UploadWay.allCases {
            for (name, type, kept) in [
                ("photo", "image/png", "photo.png"), ("notes", "text/plain", "notes.txt"), ("blob", nil, "blob.bin"),
                ("a", "application/octet-stream", "a.bin"), ("_", "IMAGE/JPEG", "_.jpg"),
            ] as [(String, String?, String)] {
                let answer = try await client.upload(way, [1], as: name, type: type)
                #expect(answer.status == 201, "\(way): \(answer.text)")
                #expect(answer.json.text("name").hasSuffix("_\(kept)"), "\(way): \(answer.text)")
                let download = try await client.download(client.path(of: answer.json.text("name")))
                #expect(download.body == [1])
            }
            for name in ["", ".", "..", ".png", "%20", "-", "~", "@"] {
                let answer = try await client.upload(way, [1], as: name, type: "image/png")
                #expect(answer.status == 400, "\(way) \(name): \(answer.text)")
                #expect(answer.code == 122, "\(way) \(name): \(answer.text)")
            }
        }
        #expect(try await suite.pulse() == pulse)
    }
}
