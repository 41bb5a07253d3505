import Foundation
import ParseProtocol
import TestSupport
import Testing

/// A photo that an account of the storefront shows no longer cannot be opened by its URL. No other file goes with it.
@Suite struct AccountPhotoTests {
    private struct Shopper {
        let customer: Customer
        let browser: Browser

        init(_ suite: Suite) async throws {
            customer = try await Customer.signUp(suite)
            browser = Browser(suite)
            let form = ["email": customer.email, "password": customer.password]
            try await eventually("the log-in") { try await browser.post("/log-in", form).location == "/account" }
        }

        /// - Returns: the stored name.
        func upload(_ photo: [UInt8]) async throws -> String {
            let page = try await browser.upload("/account/photo", photo, type: "image/jpeg")
            try #require(page.location == "/account?saved=1", "\(page.html)")
            return try #require(try await customer.client.get("/users/me")["photo"]).text("name")
        }

        func remove() async throws {
            #expect(try await browser.post("/account/photo", ["remove": "1"]).location == "/account?saved=1")
        }

        func set(_ photo: JSON) async throws {
            let answer = try await customer.client.call(.PUT, "/users/\(customer.userId)", ["photo": photo])
            try #require(answer.status == 200, "\(answer.text)")
        }

        func deleteAccount() async throws {
            try await eventually("the deletion") {
                let page = try await browser.post("/account/delete", ["password": customer.password])
                return page.location == "/account/deleted"
            }
        }
    }

    private static func photos(_ count: Int) async throws -> [[UInt8]] {
        let images = try TestImages()
        var photos: [[UInt8]] = []
        for number in 0..<count { photos.append(try await images.plain("\(number).jpg", [40 * number, 60, 200])) }
        return photos
    }

    /// The statuses of a file and of a smaller picture of it.
    /// - Parameter gateways: their numbers; none for the suite's own URL.
    private static func statuses(_ name: String, _ suite: Suite, gateways: [Int] = []) async throws -> Set<Int> {
        var client = ParseClient(suite)
        var statuses: Set<Int> = []
        for url in gateways.isEmpty ? [suite.url] : gateways.map({ suite.url(ofGateway: $0) }) {
            client.url = url
            for path in [client.path(of: name), "/files/satchel/width/160/\(name)"] {
                statuses.insert(try await client.download(path, [("X-Forwarded-For", "127.0.0.1")]).status)
            }
        }
        return statuses
    }

    /// The content and the pictures made from it.
    private static func isOnDisk(_ name: String, _ suite: Suite) -> Bool {
        ["files", "pictures"].contains { folder in
            let path = "\(suite.dataDirectory)/\(folder)/\(name.prefix(2))"
            let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
            return names.contains { $0.hasPrefix(name.prefix(32)) }
        }
    }

    @Test(.timeLimit(.minutes(10))) func aPhotoThatIsShownNoLongerIsGoneAtEachGateway() async throws {
        try await Suite.with(scale: "gateway=2") { suite in
            let shopper = try await Shopper(suite)
            let photos = try await Self.photos(3)
            func expectGone(_ name: String) async throws {
                try await eventually("\(name) is gone") {
                    let statuses = try await Self.statuses(name, suite, gateways: [1, 2])
                    return statuses == [404] && !Self.isOnDisk(name, suite)
                }
            }
            func expectShown(_ name: String) async throws {
                #expect(try await Self.statuses(name, suite, gateways: [1, 2]) == [200])
            }
            let first = try await shopper.upload(photos[0])
            try await expectShown(first)
            let second = try await shopper.upload(photos[1])
            try await expectGone(first)
            try await expectShown(second)
            // A client that was away sends the photo that it saw last. The account keeps the existing one.
            try await shopper.set(.file(first))
            try await shopper.set(.file(second))
            // Messages of the users service arrive in their order.
            let other = try await Shopper(suite)
            let later = try await other.upload(photos[2])
            try await other.remove()
            try await expectGone(later)
            try await expectShown(second)
            try await shopper.set(.file(first))
            try await shopper.remove()
            try await expectGone(second)
            let third = try await shopper.upload(photos[2])
            try await expectShown(third)
            try await shopper.deleteAccount()
            try await expectGone(third)
        }
    }

    @Test(.timeLimit(.minutes(10))) func aPhotoInTheBucketGoesToo() async throws {
        try await BucketPeer.with { bucket in
            try await Suite.with(settings: bucket.settings) { suite in
                let shopper = try await Shopper(suite)
                let photos = try await Self.photos(2)
                var name = try await shopper.upload(photos[0])
                for isReplaced in [true, false] {
                    #expect(try await Self.statuses(name, suite) == [200])
                    let objects = try await bucket.objects()
                    #expect(objects[name] != nil)
                    let old = name
                    if isReplaced {
                        name = try await shopper.upload(photos[1])
                    } else {
                        try await shopper.deleteAccount()
                    }
                    try await eventually("\(old) is gone", within: .seconds(60)) {
                        let objects = try await bucket.objects()
                        let statuses = try await Self.statuses(old, suite)
                        return objects[old] == nil && statuses == [404] && !Self.isOnDisk(old, suite)
                    }
                }
            }
        }
    }

    /// A client may name any file as the photo of its account.
    @Test func noOtherFileIsDeletedByItsName() async throws {
        let suite = try await Suite.shared
        let (victim, attacker) = (try await Shopper(suite), try await Shopper(suite))
        let photos = try await Self.photos(2)
        let photo = try await victim.upload(photos[0])
        let client = attacker.customer.client
        let upload = try await client.upload(photos[1], as: "photo.jpg", type: "image/jpeg")
        try #require(upload.status == 201, "\(upload.text)")
        let marked = try await client.upload(photos[1], as: "~photo.jpg", type: "image/jpeg")
        #expect(marked.code == ParseError.Code.invalidFileName.rawValue, "\(marked.text)")
        let others = [photo, upload.json.text("name")]
        for name in others {
            try await attacker.set(.file(name))
            try await attacker.set(["__op": "Delete"])
        }
        // Messages of the users service arrive in their order.
        let own = try await attacker.upload(photos[1])
        try await attacker.remove()
        try await eventually("the own photo is gone") { try await Self.statuses(own, suite) == [404] }
        for name in others { #expect(try await Self.statuses(name, suite) == [200], "\(name)") }
    }
}
