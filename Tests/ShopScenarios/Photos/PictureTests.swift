import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Pictures in the widths that pages need, from the gateway to libvips.
@Suite struct PictureTests {
    private static let webP = [("Accept", "image/avif,image/webp,*/*;q=0.8")]
    private static let widths = [160, 320, 640, 960, 1280, 1920]

    private static func path(_ name: String, _ width: Int) -> String { "/files/satchel/width/\(width)/\(name)" }

    private static func uploaded(_ client: ParseClient, _ content: [UInt8], _ name: String) async throws -> String {
        let type = name.hasSuffix("png") ? "image/png" : name.hasSuffix("jpg") ? "image/jpeg" : "text/plain"
        let upload = try await client.upload(content, as: name.replacing(" ", with: "%20"), type: type)
        guard upload.status == 201 else { throw Unexpected("POST files", upload) }
        return upload.json.text("name")
    }

    /// Bytes of the pictures that a suite keeps.
    private static func keptBytes(_ suite: Suite) -> Int {
        let folder = suite.dataDirectory + "/pictures"
        let paths = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return paths.filter { $0.contains(".") }.reduce(0) { sum, path in
            let size = (try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(path)"))?[.size] as? Int
            return sum + (size ?? 0)
        }
    }

    private static func keptCount(_ suite: Suite, _ name: String) -> Int {
        let folder = "\(suite.dataDirectory)/pictures/\(name.prefix(2))"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasPrefix(name.prefix(32)) }.count
    }

    @Test(.timeLimit(.minutes(10))) func aPictureComesInEachWidthAndIsNeverEnlarged() async throws {
        let admin = try await Customer.admin(try await Suite.shared)
        let images = try TestImages()
        let large = try await Self.uploaded(admin, try await images.make("a.jpg", width: 2000, height: 1000), "a.jpg")
        let small = try await Self.uploaded(admin, try await images.make("b.png", width: 200, height: 100), "b.png")
        for width in Self.widths {
            for headers in [[], Self.webP] {
                let answer = try await admin.download(Self.path(large, width), headers)
                #expect(answer.status == 200, "\(width): \(answer.text.prefix(200))")
                #expect(await images.field("width", of: answer.body) == "\(width)")
                #expect(await images.field("height", of: answer.body) == "\(width / 2)")
                let other = try await admin.download(Self.path(small, width), headers)
                #expect(await images.field("width", of: other.body) == "\(min(width, 200))")
            }
        }
        let head = try await admin.send(.HEAD, Self.path(large, 320))
        let whole = try await admin.download(Self.path(large, 320))
        #expect(head.headers.first(name: "content-length") == "\(whole.body.count)")
        #expect(head.body.isEmpty)
    }

    @Test func theTypeFollowsAccept() async throws {
        let admin = try await Customer.admin(try await Suite.shared)
        let images = try TestImages()
        let photo = try await Self.uploaded(admin, try await images.make("a.jpg", width: 700, height: 400), "a b.jpg")
        let logo = try await Self.uploaded(admin, try await images.make("b.png", width: 700, height: 400), "b.png")
        for (name, headers, type, shown) in [
            (photo, [], "image/jpeg", "a b.jpeg"), (photo, Self.webP, "image/webp", "a b.webp"),
            (logo, [("Accept", "image/webp;q=0,*/*")], "image/png", "b.png"), (logo, Self.webP, "image/webp", "b.webp"),
        ] as [(String, [(String, String)], String, String)] {
            let path = Self.path(name, 320).replacing(" ", with: "%20")
            let answer = try await admin.download(path, headers)
            #expect(answer.status == 200, "\(answer.text.prefix(200))")
            #expect(answer.headers.first(name: "content-type") == type)
            #expect(answer.headers.first(name: "content-disposition") == "inline; filename=\"\(shown)\"")
            #expect(answer.headers.first(name: "vary") == "Accept")
            #expect(answer.headers.first(name: "cache-control") == "public, max-age=31536000, immutable")
            #expect(answer.headers.first(name: "x-content-type-options") == "nosniff")
            #expect(await images.field("vips-loader", of: answer.body)?.hasPrefix(type.dropFirst(6).prefix(3)) == true)

            let etag = try #require(answer.headers.first(name: "etag"))
            #expect(etag.hasPrefix("\""))
            let known = try await admin.download(path, headers + [("If-None-Match", etag)])
            #expect(known.status == 304)
            #expect(known.body.isEmpty)
            #expect(known.headers.first(name: "etag") == etag)
            let others = type == "image/webp" ? [] : Self.webP
            #expect(try await admin.download(path, others + [("If-None-Match", etag)]).status == 200)
            let part = try await admin.download(path, headers + [("Range", "bytes=0-9")])
            #expect(part.status == 200)
            #expect(part.body == answer.body)
        }
    }

    @Test func privateAndUnknownFilesAreRefused() async throws {
        let suite = try await Suite.shared
        let client = ParseClient.master(suite)
        let images = try TestImages()
        let content = try await images.make("a.jpg", width: 400, height: 400)
        let upload = try await client.send(
            .POST, "/files/a.jpg",
            headers: client.credentials + [("Content-Type", "image/jpeg"), ("X-Satchel-File-Private", "true")],
            body: content)
        try #require(upload.status == 201, "\(upload.text)")
        let name = upload.json.text("name")
        let signature = upload.json.text("url").split(separator: "?").last ?? ""
        #expect(try await client.download(client.path(of: name) + "?\(signature)").status == 200)
        for query in ["", "?\(signature)"] {
            #expect(try await client.download(Self.path(name, 160) + query).status == 403)
            // Not as the public file of the same digits either.
            let asPublic = "\(name.prefix(32))_a.jpg"
            #expect(try await client.download(Self.path(asPublic, 160) + query).status == 404)
        }
        #expect(Self.keptCount(suite, name) == 0)
        let unknown = FileNames.storedName("a.jpg")
        #expect(try await client.download(Self.path(unknown, 160)).status == 404)
        #expect(try await client.download(Self.path("..%2F..%2Fmaster.key", 160)).status == 404)
        #expect(try await client.download("/files/other/width/160/\(unknown)").status == 403)
    }

    @Test func whatIsNoPictureIsRefused() async throws {
        let admin = try await Customer.admin(try await Suite.shared)
        let images = try TestImages()
        let good = try await images.make("a.jpg", width: 600, height: 600)
        let bomb = try await images.bomb()
        for (what, content, name) in [
            ("half a photo", Array(good.prefix(good.count / 2)), "a.jpg"),
            ("a header alone", Array(good.prefix(200)), "a.jpg"), ("a text", Array("hello".utf8), "a.txt"),
            ("a decompression bomb", bomb, "a.png"),
            ("an SVG", Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8), "a.png"),
        ] as [(String, [UInt8], String)] {
            let stored = try await Self.uploaded(admin, content, name)
            // The second answer is remembered.
            for headers in [[], Self.webP] {
                let answer = try await admin.download(Self.path(stored, 640), headers)
                #expect(answer.status == 400, "\(what): \(answer.text.prefix(200))")
                #expect(answer.code == 150, "\(what)")
                #expect(answer.headers.first(name: "cache-control")?.contains("immutable") != true, "\(what)")
            }
        }
    }

    /// Ten thousand sizes cost the gateway a comparison each.
    @Test(.timeLimit(.minutes(10))) func tenThousandSizesMakeNoPictures() async throws {
        let suite = try await Suite.shared
        let admin = try await Customer.admin(suite)
        let images = try TestImages()
        let name = try await Self.uploaded(admin, try await images.make("a.jpg", width: 900, height: 900), "a.jpg")
        let refused = try await withThrowingTaskGroup(of: Int.self) { group in
            for lane in 0..<16 {
                group.addTask {
                    var refused = 0
                    for width in stride(from: lane, to: 10_000, by: 16) where !Self.widths.contains(width) {
                        let answer = try await admin.download(Self.path(name, width), Self.webP)
                        if answer.status == 400 { refused += 1 }
                    }
                    return refused
                }
            }
            return try await group.reduce(0) { $0 + $1 }
        }
        #expect(refused == 10_000 - Self.widths.count)
        for width in ["0640", "+640", "640.0", "-640", "640%20", "%EF%BC%96%EF%BC%94%EF%BC%90", "1e9"] {
            let answer = try await admin.download("/files/satchel/width/\(width)/\(name)")
            #expect(answer.status == 400, "\(width)")
        }
        #expect(Self.keptCount(suite, name) == 0)
        #expect(try await admin.download(Self.path(name, 640)).status == 200)
    }

    /// The catalog keeps neither of these pictures and makes one for each network: the first comes in one call, and the
    /// second, which takes two, is refused before its response begins.
    @Test(.timeLimit(.minutes(5))) func aPictureComesWholeOrIsRefused() async throws {
        let settings = [
            "SATCHEL_PICTURE_CACHE": "65536", "SATCHEL_FILE_CACHE": "0", "SATCHEL_TRUSTED_PROXIES": "127.0.0.1",
            "SATCHEL_QUOTAS": "pictures=1/36000s per ip",
        ]
        try await Suite.with(settings: settings) { suite in
            let admin = try await Customer.admin(suite)
            let images = try TestImages()
            let content = try await images.make("a.jpg", width: 1300, height: 700)
            let photo = try await Self.uploaded(admin, content, "a.jpg")
            let drawing = try await images.make("b.png", width: 1300, height: 1300)
            let logo = try await Self.uploaded(admin, drawing, "b.png")
            let answer = try await admin.download(Self.path(photo, 1280), Self.webP)
            #expect(answer.status == 200, "\(answer.text.prefix(200))")
            #expect((256 << 10...1 << 20).contains(answer.body.count), "\(answer.body.count)")
            #expect(await images.field("width", of: answer.body) == "1280")
            let refused = try await admin.download(Self.path(logo, 1280), [("X-Forwarded-For", "198.51.100.7")])
            #expect(refused.status == 429, "\(refused.status), \(refused.body.count)")
        }
    }

    /// A flood of pictures fills neither the disk nor the lanes of the catalog, and refuses no other network.
    @Test(.timeLimit(.minutes(10))) func aFloodOfPicturesIsBounded() async throws {
        let limit = 400_000
        let settings = [
            "SATCHEL_PICTURE_CACHE": "\(limit)", "SATCHEL_FILE_CACHE": "0", "SATCHEL_TRUSTED_PROXIES": "127.0.0.1",
        ]
        try await Suite.with(settings: settings) { suite in
            let admin = try await Customer.admin(suite)
            let images = try TestImages()
            let content = try await images.make("a.jpg", width: 1300, height: 700)
            var names: [String] = []
            for _ in 0..<12 { names.append(try await Self.uploaded(admin, content, "a.jpg")) }
            let shoppers = try await Self.uploaded(admin, content, "a.jpg")
            let wanted = names.flatMap { name in Self.widths.map { (name, $0) } }
            let client = ParseClient(suite)
            let statuses = try await withThrowingTaskGroup(of: Int?.self) { group in
                for (name, width) in wanted {
                    group.addTask {
                        let answer = try await client.download(Self.path(name, width), Self.webP)
                        if answer.status == 503 { #expect(answer.headers.first(name: "retry-after") != nil) }
                        return answer.status
                    }
                }
                for width in [160, 320, 640] {
                    group.addTask {
                        let headers = Self.webP + [("X-Forwarded-For", "198.51.100.7")]
                        let status = try await client.download(Self.path(shoppers, width), headers).status
                        #expect(status == 200, "\(width)")
                        return nil
                    }
                }
                for _ in 0..<10 {
                    // Another request is answered meanwhile.
                    group.addTask {
                        let status = try? await client.get("/classes/Product", ["limit": 1]).status
                        #expect(status == 200)
                        return nil
                    }
                }
                return try await group.reduce(into: [Int: Int]()) { counts, status in
                    if let status { counts[status, default: 0] += 1 }
                }
            }
            #expect(statuses[200, default: 0] >= 2, "\(statuses)")
            #expect(Set(statuses.keys).isSubset(of: [200, 503]), "\(statuses)")
            try await eventually("the folder is within its limit") { Self.keptBytes(suite) <= limit }

            // The catalog makes refused and evicted pictures at a later request.
            for (name, width) in wanted {
                try await eventually("\(name) comes in \(width)") {
                    try await client.download(Self.path(name, width), Self.webP).status == 200
                }
            }
            try await eventually("the folder is within its limit") { Self.keptBytes(suite) <= limit }
            // A picture that is lost is made again, and one of a removed file is gone.
            try FileManager.default.removeItem(atPath: suite.dataDirectory + "/pictures")
            let again = try await client.download(Self.path(names[0], 320))
            #expect(again.status == 200)
            #expect(Self.keptCount(suite, names[0]) == 1)
            let master = ParseClient.master(suite)
            #expect(try await master.call(.DELETE, "/files/\(names[0])").status == 200)
            #expect(try await client.download(Self.path(names[0], 320)).status == 404)
            try await eventually("it is removed") { Self.keptCount(suite, names[0]) == 0 }
        }
    }
}
