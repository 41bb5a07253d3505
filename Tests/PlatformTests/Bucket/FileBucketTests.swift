import Foundation
import Logging
import ParseProtocol
import Platform
import ProcessKit
import ServiceSupport
import Testing

/// Requests to a bucket, and which of its answers are trusted.
@Suite struct FileBucketTests {
    private static let name = "0123456789abcdef0123456789abcdef_a b.txt"
    private static let content = Array("0123456789".utf8)

    private static func put(_ bucket: FileBucket) async throws(BucketTrouble) {
        try await bucket.put(content, name: name, contentType: "text/plain", within: .seconds(60))
    }

    @Test func whatWasPutThereIsRead() async throws {
        let double = BucketDouble()
        let bucket = try double.bucket()
        try await Self.put(bucket)
        #expect(double.names == [Self.name])
        #expect(try await bucket.get(Self.name, 2..<5, of: 10).bytes == Array("234".utf8))
        #expect(try await bucket.content(Self.name, size: 10) == Self.content)
        try await bucket.delete(Self.name)
        #expect(double.names == [])
        // The object is already gone.
        try await bucket.delete(Self.name)
        await #expect(throws: BucketTrouble.missing) { try await bucket.get(Self.name, 0..<1, of: 10) }
    }

    @Test func aTagThatIsAnotherMD5IsNoConfirmation() async throws {
        let double = BucketDouble()
        double.answer(tag: String(repeating: "0", count: 32))
        let bucket = try double.bucket()
        await #expect(throws: BucketTrouble.different) { try await Self.put(bucket) }
        // The tag of a multipart upload, which says nothing about the content.
        double.answer(tag: String(repeating: "0", count: 32) + "-2")
        try await Self.put(bucket)
    }

    @Test func contentThatIsNotWhatWasPutThereIsNotBelieved() async throws {
        let double = BucketDouble()
        double.changeContent(true)
        let bucket = try double.bucket()
        try await Self.put(bucket)
        await #expect(throws: BucketTrouble.different) { try await bucket.content(Self.name, size: 10) }
        await #expect(throws: BucketTrouble.different) { try await bucket.get(Self.name, 0..<5, of: 11) }
    }

    @Test func aRequestIsSentAgainAndAtLastGivenUp() async throws {
        let double = BucketDouble()
        double.fail(at: [0, 1, 3, 4, 5])
        let bucket = try double.bucket()
        try await Self.put(bucket)
        #expect(double.methods == ["PUT", "PUT", "PUT"])
        await #expect(throws: BucketTrouble.self) { try await Self.put(bucket) }
        #expect(double.methods.count == 6)
        #expect(bucket.trouble == nil, "Once is not away.")
    }

    /// For a while, a browser must get the same URL, so that its cached picture remains usable.
    @Test func aSignedURLStaysTheSameForHalfItsLife() throws {
        let bucket = try BucketDouble().bucket(["SATCHEL_FILES_BUCKET_URL_SECONDS": "600"])
        func url(_ seconds: Int64) -> String {
            bucket.presignedURL(Self.name, contentType: "text/plain", at: .init(milliseconds: seconds * 1000))
        }
        #expect(url(1_500_000_000) == url(1_500_000_299))
        #expect(url(1_500_000_000) != url(1_500_000_300))
        #expect(url(1_500_000_000).hasPrefix("http://127.0.0.1:9/shop/0123456789abcdef0123456789abcdef_a%20b.txt?"))
        #expect(url(1_500_000_000).contains("response-content-type=text%2Fplain%3B%20charset%3Dutf-8"))
        #expect(!url(1_500_000_000).contains("secret"))
    }

    @Test func aShopWhoseFilesAreInABucketNeedsIt() async throws {
        let sandbox = try await SandboxStore(platformPlan)
        let bucket = try BucketDouble().bucket()
        let store = sandbox.store
        try await store.read { try FileBucket.check(nil, in: $0) }
        try await store.write {
            try FileTable.add(.init(name: Self.name, contentType: "text/plain", size: 10, inBucket: true), in: $0)
        }
        try await store.read { try FileBucket.check(bucket, in: $0) }
        await #expect(throws: StartupProblem.self) { try await store.read { try FileBucket.check(nil, in: $0) } }
    }

    /// The removal of the object is stored together with the file's removal, and nothing else on the disk changes.
    @Test func aFileThatIsRemovedLeavesItsObjectToBeRemoved() async throws {
        let sandbox = try await SandboxStore(platformPlan)
        let store = sandbox.store
        try await store.write {
            try FileTable.add(.init(name: Self.name, contentType: "text/plain", size: 10, inBucket: true), in: $0)
        }
        #expect(try await store.read { try FileTable.strangers([Self.name], in: $0) } == [Self.name])
        let isRemoved = try await store.write { try FileTable.remove(Self.name, in: $0) }
        #expect(isRemoved)
        #expect(try await store.read { try BucketDeletions.due(at: .now, limit: 10, in: $0) } == [Self.name])
        let isRemovedAgain = try await store.write { try FileTable.remove(Self.name, in: $0) }
        #expect(!isRemovedAgain)
    }
}
