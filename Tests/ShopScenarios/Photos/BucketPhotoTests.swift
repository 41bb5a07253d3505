import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Product photos whose files are in a bucket.
@Suite struct BucketPhotoTests {
    @Test(.timeLimit(.minutes(10))) func theCatalogWorksOnAPhotoOfTheBucket() async throws {
        try await BucketPeer.with { bucket in
            try await Suite.with(settings: bucket.settings) { suite in
                let admin = try await Customer.admin(suite)
                let images = try TestImages()
                let photo = try await images.make("a.jpg", width: 800, height: 400)
                let upload = try await admin.upload(photo, as: "a.jpg", type: "image/jpeg")
                try #require(upload.status == 201, "\(upload.text)")
                let saved = try await admin.create(
                    "Product", ["name": "Pictured", "unitPrice": 1, "fullsizeImage": .file(upload.json.text("name"))])
                try #require(saved.status == 201, "\(saved.text)")
                for (field, width) in [("fullsizeImage", "800"), ("thumbnail", "408")] {
                    let name = saved[field]?.text("name") ?? ""
                    let picture = try await admin.download(admin.path(of: name)).body
                    #expect(await images.field("width", of: picture) == width, "\(field)")
                    #expect(try await bucket.objects()[name] != nil, "\(field)")
                }
                let name = upload.json.text("name")
                for (accept, type) in [("image/webp", "image/webp"), ("*/*", "image/jpeg")] {
                    let answer = try await admin.download("/files/satchel/width/320/\(name)", [("Accept", accept)])
                    #expect(answer.status == 200, "\(answer.text.prefix(200))")
                    #expect(answer.headers.first(name: "content-type") == type)
                    #expect(await images.field("width", of: answer.body) == "320")
                }
                // Neither the photo nor its intermediate files.
                try await eventually("the disk has none of it") {
                    let left = FileManager.default.enumerator(atPath: suite.dataDirectory + "/files")
                    return !(left?.compactMap { $0 as? String } ?? []).contains { $0.hasSuffix(".jpg") }
                }
            }
        }
    }
}
