import Outbound
import TestSupport
import Testing

@testable import MoveIn

/// An old server's files in a bucket, which `moto` simulates with strict checks of signatures.
@Suite struct BucketShelfTests {
    // Tests do not wait.
    private static let http = PatientHTTP(OutboundClient(), pause: { _ in })
    private static let photo = "e7860ae0a31659a0d79612e94899afb7_photo of a+b.txt"

    private static func shelf(_ variables: [String: String]) throws -> BucketShelf {
        try BucketShelf("s3://shop/images", variables, http: http)
    }

    @Test func filesComeFromABucket() async throws {
        try await BucketPeer.with { bucket in
            try await bucket.put("images/\(Self.photo)", "photo")
            try await bucket.put("outside.txt", "outside")
            let shelf = try Self.shelf(bucket.variables)
            let found = try await shelf.open(OldFile(name: Self.photo), bytesMax: 1000)
            #expect(found?.content == Array("photo".utf8))
            for name in ["missing.txt", "outside.txt", "../outside.txt", "..", "images/\(Self.photo)"] {
                #expect(try await shelf.open(OldFile(name: name), bytesMax: 1000) == nil, "\(name)")
            }
            await #expect(throws: AnswerTooLarge.self) {
                try await shelf.open(OldFile(name: Self.photo), bytesMax: 4)
            }
            try await bucket.fail("503", times: 2)
            #expect(try await shelf.open(OldFile(name: Self.photo), bytesMax: 1000) == found)
            // A key that may not list objects gets this answer for a missing one.
            try await bucket.fail("403")
            let refused = await #expect(throws: ShelfProblem.self) {
                try await shelf.open(OldFile(name: Self.photo), bytesMax: 1000)
            }
            #expect(refused?.isAway == false)

            let shelves = try FileShelves.open(
                ["s3://shop/images/"], source: ParseServerFixture.dump, http: Self.http, variables: bucket.variables)
            let (suite, lacking) = (MemoryFileSuite(), Lacking())
            let mover = FileMover(shelves: shelves, suite: suite, lack: { await lacking.add($0) })
            let row = MovedRow(
                "Item", "item1",
                [
                    "photo": ["__type": "File", "name": .string(Self.photo)],
                    "other": ["__type": "File", "name": "missing.txt"],
                ])
            _ = try await mover.moved([row])
            #expect(await suite.files.values.map(\.content) == [Array("photo".utf8)])
            #expect(await lacking.rows.map(\.objectId) == ["item1"])
        }
    }

    @Test func wrongKeysEndTheMove() async throws {
        try await BucketPeer.with { bucket in
            for (name, value, code) in [
                ("AWS_SECRET_ACCESS_KEY", "other", "SignatureDoesNotMatch"),
                ("AWS_ACCESS_KEY_ID", "AKOTHER", "InvalidAccessKeyId"),
                ("AWS_REGION", "eu-central-1", "AuthorizationHeaderMalformed"),
            ] {
                let shelf = try Self.shelf(bucket.variables.merging([name: value]) { $1 })
                let error = await #expect(throws: MoveInError.self) {
                    try await shelf.open(OldFile(name: Self.photo), bytesMax: 1000)
                }
                #expect(error?.description.contains(code) == true, "\(error?.description ?? "")")
                #expect(error?.description.contains(BucketPeer.secret) == false)
            }
        }
    }

    @Test(arguments: [("http://127.0.0.1:9000", true), ("https://s3.example.com", false)])
    func aTokenPassesNoProxyInPlainText(_ server: String, isDirect: Bool) throws {
        let keys = ["AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token"]
        let request = try Self.shelf(keys.merging(["AWS_ENDPOINT_URL": server]) { $1 }).request(for: "a.txt")
        #expect(request.headers.contains { $0.name == "x-amz-security-token" && $0.value == "token" })
        #expect(request.isDirect == isDirect)
    }

    @Test func aPlaceNeedsABucketAndKeys() {
        let keys = ["AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "secret"]
        for (place, variables) in [
            ("s3://shop/images", [:]), ("s3://", keys), ("s3://shop/../x", keys), ("s3://no bucket/x", keys),
            ("s3://shop/x", keys.merging(["AWS_ENDPOINT_URL": "ftp://s3.example"]) { $1 }),
        ] as [(String, [String: String])] {
            let error = #expect(throws: MoveInError.self, "\(place)") {
                try BucketShelf(place, variables, http: Self.http)
            }
            #expect(error?.description.hasPrefix(place) == true)
        }
    }
}
