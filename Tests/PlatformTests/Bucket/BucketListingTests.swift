import Outbound
import ParseProtocol
import Platform
import ProcessKit
import Synchronization
import Testing

/// The list of a bucket's objects.
@Suite struct BucketListingTests {
    private static func name(_ digit: String) -> String { String(repeating: digit, count: 32) + "_a b.txt" }

    private static func page(_ keys: [String], isTruncated: Bool = false) -> [UInt8] {
        let contents = keys.map { "<Contents><Key>\($0)</Key><Size>1</Size></Contents>" }.joined()
        return Array(
            "<ListBucketResult><IsTruncated>\(isTruncated)</IsTruncated>\(contents)</ListBucketResult>".utf8)
    }

    private static func bucket(
        _ asked: @escaping @Sendable (_ query: String) -> OutboundResponse
    ) throws -> FileBucket {
        let settings = [
            "SATCHEL_FILES_BUCKET": "s3://shop/files", "SATCHEL_FILES_BUCKET_URL": "http://127.0.0.1:9",
            "SATCHEL_FILES_BUCKET_ACCESS_KEY": "AK", "SATCHEL_FILES_BUCKET_SECRET": "secret",
        ]
        let configuration = try #require(try BucketConfiguration(Settings(settings)))
        return FileBucket(configuration) { request throws(OutboundFailure) in
            let parts = request.url.split(separator: "?").map(String.init)
            guard parts.first == "http://127.0.0.1:9/shop", parts.count == 2 else {
                throw OutboundFailure(.broken, wasNotSent: false)
            }
            return asked(parts[1])
        }
    }

    @Test func keysAreReadAndOtherDocumentsAreNoList() {
        let listing = BucketListing(Self.page(["a&amp;lt;b", "c"], isTruncated: true))
        #expect(listing?.keys == ["a&lt;b", "c"])
        #expect(listing?.isTruncated == true)
        #expect(BucketListing(Self.page(["&#x9;&#39;&amp;#9;&what;&#x110000;"]))?.keys == ["\t'&#9;&what;&#x110000;"])
        #expect(
            BucketListing(Self.page(["a&amp;\u{301}b"]))?.keys.first?.unicodeScalars.elementsEqual(
                "a&\u{301}b".unicodeScalars) == true)
        #expect(BucketListing(Self.page([]))?.isTruncated == false)
        #expect(BucketListing(Array("<html>Welcome</html>".utf8)) == nil)
        #expect(BucketListing(Array("<ListBucketResult><Key>a".utf8))?.keys == [])
    }

    @Test func pagesOfOtherObjectsArePassedOver() async throws {
        let queries = Mutex([String]())
        let bucket = try Self.bucket { query in
            let number = queries.withLock { queries in
                queries.append(query)
                return queries.count
            }
            let pages = [
                Self.page(["files/0 notes.txt", "files/0-probe"], isTruncated: true),
                Self.page(["files/" + Self.name("a"), "files/zero"], isTruncated: true), Self.page([]),
            ]
            return OutboundResponse(status: 200, body: pages[min(number, 3) - 1])
        }
        #expect(try await bucket.names(after: "") == [Self.name("a")])
        #expect(try await bucket.names(after: Self.name("a")) == [])
        let asked = queries.withLock { $0 }
        #expect(
            asked == [
                "list-type=2&prefix=files%2F",
                "list-type=2&prefix=files%2F&start-after=files%2F0-probe",
                "list-type=2&prefix=files%2F&start-after=files%2F" + Self.name("a").replacing(" ", with: "%20"),
            ])
    }

    /// A server that ignores `start-after`, or has another order, would hide the later files.
    @Test(arguments: [["zero", "files/zero"], ["files/b", "files/a"], []])
    func aListWithoutOrderIsRefused(keys: [String]) async throws {
        let bucket = try Self.bucket { _ in
            OutboundResponse(status: 200, body: Self.page(keys, isTruncated: true))
        }
        await #expect(throws: BucketTrouble.refused("no list in order")) {
            try await bucket.names(after: keys.first == "zero" ? "zero" : "")
        }
    }

    /// Some tools make an object for the folder, which comes first.
    @Test func theFoldersOwnObjectIsLeftOut() async throws {
        let bucket = try Self.bucket { _ in
            OutboundResponse(status: 200, body: Self.page(["files/", "files/" + Self.name("a")], isTruncated: true))
        }
        #expect(try await bucket.names(after: "") == [Self.name("a")])
    }

    @Test func aListOfOtherObjectsEnds() async throws {
        let pages = Mutex(100_000)
        let bucket = try Self.bucket { _ in
            let number = pages.withLock { pages in
                pages += 1
                return pages
            }
            return OutboundResponse(status: 200, body: Self.page(["files/note\(number)"], isTruncated: true))
        }
        await #expect(throws: BucketTrouble.self) { try await bucket.names(after: "", within: .milliseconds(50)) }
    }

    /// The shop may read and write, but not list.
    @Test func aRefusalIsNoTroubleOfTheBucket() async throws {
        let bucket = try Self.bucket { _ in
            OutboundResponse(status: 403, body: Array("<Error><Code>AccessDenied</Code></Error>".utf8))
        }
        await #expect(throws: BucketTrouble.refused("AccessDenied")) { try await bucket.names(after: "") }
        #expect(bucket.trouble == nil)
        let proxy = try Self.bucket { _ in OutboundResponse(status: 200, body: Array("<html/>".utf8)) }
        await #expect(throws: BucketTrouble.self) { try await proxy.names(after: "") }
    }
}
