import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// An operator adds a photo to a product, and the catalog generates the pictures that apps show.
@Suite struct PhotoTests {
    private static func product(
        _ client: ParseClient, _ photo: [UInt8], as name: String, type: String
    ) async throws -> ParseClient.Answer {
        let upload = try await client.upload(photo, as: name, type: type)
        guard upload.status == 201 else { throw Unexpected("POST files", upload) }
        return try await client.create(
            "Product", ["name": "Pictured", "unitPrice": 1, "fullsizeImage": .file(upload.json.text("name"))])
    }

    private static func picture(
        _ client: ParseClient, _ answer: ParseClient.Answer, _ field: String
    ) async throws -> [UInt8] {
        try await client.download(client.path(of: answer[field]?.text("name") ?? "")).body
    }

    /// Most photos have no colour profile; their colours are sRGB.
    @Test(arguments: ["plain.png", "plain.jpg"])
    func theColoursOfAPhotoStay(_ name: String) async throws {
        let admin = try await Customer.admin(try await Suite.shared)
        let images = try TestImages()
        let colour = [20, 60, 200]
        let type = name.hasSuffix("png") ? "image/png" : "image/jpeg"
        let saved = try await Self.product(admin, try await images.plain(name, colour), as: name, type: type)
        for field in ["fullsizeImage", "thumbnail"] {
            let shown = try await images.colour(of: try await Self.picture(admin, saved, field))
            #expect(shown.count == 3, "\(field)")
            #expect(zip(shown, colour).allSatisfy { abs($0 - Double($1)) <= 4 }, "\(field): \(shown)")
        }
    }

    @Test func aPhotoBecomesTwoUprightPicturesThatTellNothing() async throws {
        let admin = try await Customer.admin(try await Suite.shared)
        let images = try TestImages()
        var photo = try await images.make("a.jpg", width: 2000, height: 1000)
        photo.insert(contentsOf: exifSegment(orientation: 6), at: 2)
        #expect(await images.field("exif-data", of: photo) != nil, "The photo has EXIF data.")
        let saved = try await Self.product(admin, photo, as: "a.jpg", type: "image/jpeg")
        #expect(saved.status == 201, "\(saved.text)")
        // Rotated upright it is 1,000 wide, and no picture is enlarged.
        for (field, width, height) in [("fullsizeImage", "1000", "2000"), ("thumbnail", "408", "816")] {
            let picture = try await Self.picture(admin, saved, field)
            #expect(await images.field("width", of: picture) == width, "\(field)")
            #expect(await images.field("height", of: picture) == height, "\(field)")
            #expect(await images.field("exif-data", of: picture) == nil, "\(field)")
            #expect(picture.firstRange(of: Array("Exif".utf8)) == nil, "\(field)")
        }
        let stored = try await admin.get("/classes/Product/\(saved.objectId)")
        #expect(stored["thumbnail"] == saved["thumbnail"])
        #expect(stored["fullsizeImage"] == saved["fullsizeImage"])

        // Saving an unchanged object changes nothing; another photo generates new pictures.
        let path = "/classes/Product/\(saved.objectId)"
        let same = try await admin.call(.PUT, path, ["fullsizeImage": stored["fullsizeImage"] ?? .null])
        #expect(same.status == 200)
        #expect(same["thumbnail"] == nil)
        let other = try await admin.upload(
            try await images.make("b.png", width: 3000, height: 300), as: "b.png", type: "image/png")
        let changed = try await admin.call(.PUT, path, ["fullsizeImage": .file(other.json.text("name"))])
        #expect(changed.status == 200, "\(changed.text)")
        #expect(changed["thumbnail"] != saved["thumbnail"], "\(changed.text)")
        #expect(await images.field("width", of: try await Self.picture(admin, changed, "fullsizeImage")) == "1632")
        // A client that sends both pictures gets both unchanged.
        let both = try await admin.call(
            .PUT, path, ["fullsizeImage": .file(other.json.text("name")), "thumbnail": .file(other.json.text("name"))])
        #expect(both.status == 200)
        #expect(both["thumbnail"] == nil)
    }

    @Test func whatIsNoImageIsRefusedAndNothingChanges() async throws {
        let suite = try await Suite.shared
        let admin = try await Customer.admin(suite)
        let images = try TestImages()
        let good = try await images.make("a.jpg", width: 600, height: 600)
        let saved = try await Self.product(admin, good, as: "a.jpg", type: "image/jpeg")
        try #require(saved.status == 201)
        let bomb = try await images.bomb()
        #expect(await images.field("width", of: bomb) == "20000")
        #expect(bomb.count < 100_000)
        let svg = Array("<svg xmlns='http://www.w3.org/2000/svg'><image href='file:///etc/passwd'/></svg>".utf8)
        for (what, content, name, type) in [
            ("half a photo", Array(good.prefix(good.count / 2)), "a.jpg", "image/jpeg"),
            ("a header alone", Array(good.prefix(200)), "a.jpg", "image/jpeg"),
            ("a decompression bomb", bomb, "a.png", "image/png"), ("an SVG", svg, "a.png", "image/png"),
            ("random bytes", (0..<1000).map { _ in UInt8.random(in: 0...255) }, "a.webp", "image/webp"),
            ("a text", Array("hello".utf8), "a.txt", "text/plain"),
        ] as [(String, [UInt8], String, String)] {
            let upload = try await admin.upload(content, as: name, type: type)
            try #require(upload.status == 201, "\(what): \(upload.text)")
            let answer = try await admin.call(
                .PUT, "/classes/Product/\(saved.objectId)",
                ["name": "Changed", "fullsizeImage": .file(upload.json.text("name"))])
            #expect(answer.status == 400, "\(what): \(answer.text)")
            #expect(answer.code == 150, "\(what): \(answer.text)")
            #expect(try await Self.product(admin, content, as: name, type: type).code == 150, "\(what)")
        }
        let unknown = JSON.file(String(repeating: "0", count: 32) + "_a.png")
        #expect(try await admin.create("Product", ["name": "P", "unitPrice": 1, "fullsizeImage": unknown]).code == 150)
        let stored = try await admin.get("/classes/Product/\(saved.objectId)")
        #expect(stored["name"] == "Pictured")
        #expect(stored["thumbnail"] == saved["thumbnail"])
        // Other scenarios upload to the same suite; their unfinished uploads disappear soon.
        let incoming = "\(suite.dataDirectory)/files/incoming"
        try await eventually("nothing is left of the refused images") {
            try FileManager.default.contentsOfDirectory(atPath: incoming).isEmpty
        }
    }

    /// The service processes no photo for a client that may not change products.
    @Test func aCustomerCannotAddAPhoto() async throws {
        let client = try await Customer.signUp(try await Suite.shared).client
        let images = try TestImages()
        let photo = try await images.make("a.jpg", width: 100, height: 100)
        #expect(try await Self.product(client, photo, as: "a.jpg", type: "image/jpeg").code == 119)
    }
}
