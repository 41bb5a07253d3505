import Cryptography
import Foundation
import ObjectStore
import Outbound
import ParseProtocol
import ProcessKit
import Synchronization

/// The bucket that stores file contents: S3 or a compatible server. An object's key is the prefix and the file's name,
/// whose 128 random bits cannot be guessed.
package final class FileBucket: Sendable {
    /// Sends a request, as `OutboundClient` does.
    package typealias Send = @Sendable (OutboundRequest) async throws(OutboundFailure) -> OutboundResponse

    /// A part of an object.
    package struct Part: Sendable {
        package let bytes: [UInt8]
        /// SHA-256 of the whole object in hexadecimal, as recorded at upload; nil when it was not recorded.
        package let digest: String?
    }

    private struct Listener {
        let tell: @Sendable (BucketTrouble?) -> Void
        let wake: @Sendable () -> Void
    }

    package let configuration: BucketConfiguration
    private let send: Send
    private let health = Mutex(BucketHealth())
    private let listener = Mutex<Listener?>(nil)
    private let start = ContinuousClock.now
    /// Hashes off the cooperative pool, where a file of several megabytes would delay other requests.
    private let hashing = BlockingQueue("files.hash")

    /// Less than the 10 s that the gateway waits for a part.
    private static let readLimit = Duration.seconds(8)
    /// Timeout of one attempt for small requests.
    private static let shortAttempt = Duration.seconds(4)
    /// Less than the 30 s that the gateway waits for an upload.
    package static let uploadLimit = Duration.seconds(24)
    /// Maximum bytes of a short response, such as an error.
    private static let wordsMax = 1 << 16
    private static let listAttempt = Duration.seconds(10)
    /// Less than the 300 s that the gateway waits for a page of the books.
    package static let listLimit = Duration.seconds(240)
    /// A thousand keys of at most a kilobyte, and what the bucket says of each.
    private static let listBytesMax = 4 << 20
    /// The object that the write probe creates; no file has this name.
    private static let probeName = "satchel-probe"

    package init(_ configuration: BucketConfiguration, send: @escaping Send) {
        self.configuration = configuration
        self.send = send
    }

    /// The bucket from the settings; nil when there is none.
    /// - Throws: `StartupProblem`.
    package static func ofShop(_ settings: Settings = .environment) throws(StartupProblem) -> FileBucket? {
        guard let configuration = try BucketConfiguration(settings) else { return nil }
        let client = try OutboundClient.loaded(authorities: configuration.authorities)
        return FileBucket(configuration) { request throws(OutboundFailure) in try await client.send(request) }
    }

    /// Refuses to start when files are in a bucket and no bucket is set.
    /// - Throws: `StartupProblem`.
    package static func check(_ bucket: FileBucket?, in reader: ObjectReader) throws {
        guard bucket == nil, try FileTable.hasBucketFiles(in: reader) else { return }
        throw StartupProblem(
            """
            Files are stored in a bucket, but SATCHEL_FILES_BUCKET is not set. Set it again; \
            SATCHEL_FILES_BUCKET_MOVES=back moves them to the disk (docs/guides/files.md).
            """)
    }

    // MARK: - Objects

    /// Stores content as the object of a file. When it returns, the bucket has confirmed the complete content.
    package func put(
        _ content: [UInt8], name: String, contentType: String, within limit: Duration
    ) async throws(BucketTrouble) {
        let sums = await hashing.run { (sha: SHA256.hash(data: content), md5: Insecure.MD5.hash(data: content)) }
        let headers = [
            ("Content-Type", FileNames.shownType(contentType)),
            ("Content-Disposition", FileNames.disposition(name, contentType: contentType)),
            ("Cache-Control", "public, max-age=31536000, immutable"),
            ("Content-MD5", Data(sums.md5).base64EncodedString()), ("x-amz-meta-sha256", sums.sha.hex),
        ].map { (name: $0.0, value: $0.1) }
        let answer = try await run(.writing, within: limit, attempt: limit) { [self] in
            request(.put, name, headers: headers, body: content, bodyHash: sums.sha.hex)
        }
        if let tag = Self.plainTag(of: answer), tag != sums.md5.hex { throw .different }
    }

    /// A part of an object.
    /// - Parameters:
    ///   - range: not empty, within the size.
    ///   - size: of the whole object; any other size throws `different`.
    package func get(_ name: String, _ range: Range<Int>, of size: Int) async throws(BucketTrouble) -> Part {
        let headers = [(name: "Range", value: "bytes=\(range.lowerBound)-\(range.upperBound - 1)")]
        let answer = try await run(.reading, within: Self.readLimit, attempt: Self.shortAttempt) { [self] in
            var request = request(.get, name, headers: headers)
            request.answerBytesMax = range.count + Self.wordsMax
            return request
        }
        let expected = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
        // A server without range support returns the whole object.
        let isPart = answer.status == 206 && answer.headers["content-range"] == expected
        guard isPart || (answer.status == 200 && range == 0..<size), answer.body.count == range.count else {
            throw .different
        }
        return Part(bytes: answer.body, digest: answer.headers["x-amz-meta-sha256"])
    }

    /// A whole object, verified against its recorded hash.
    package func content(_ name: String, size: Int) async throws(BucketTrouble) -> [UInt8] {
        var content: [UInt8] = []
        content.reserveCapacity(size)
        var digest: String?
        while content.count < size {
            let end = min(size, content.count + FileFolder.partBytesMax)
            let part = try await get(name, content.count..<end, of: size)
            content += part.bytes
            digest = part.digest
        }
        guard let digest else { return content }
        let whole = content
        guard await hashing.run({ SHA256.hash(data: whole).hex }) == digest.lowercased() else { throw .different }
        return content
    }

    /// Deletes an object. Succeeds when the object does not exist.
    package func delete(_ name: String) async throws(BucketTrouble) {
        do throws(BucketTrouble) {
            _ = try await run(.writing, within: .seconds(10), attempt: Self.shortAttempt) { [self] in
                request(.delete, name)
            }
        } catch {
            guard error == .missing else { throw error }
        }
    }

    /// The names of the next files that have an object, in the order of their bytes; none at the end. Other objects are
    /// left out. A failure says nothing about the bucket's health: its key may not be allowed to list.
    /// - Parameter limit: a shared bucket may have millions of other objects before the next file.
    package func names(
        after name: String, within limit: Duration = FileBucket.listLimit
    ) async throws(BucketTrouble) -> [String] {
        let prefix = configuration.address.prefix
        let end = ContinuousClock.now + limit
        var last = name
        while true {
            let left = end - ContinuousClock.now
            guard left > .zero else { throw .away("too many other objects to list") }
            let pageLimit = min(Duration.seconds(30), left)
            let answer = try await run(nil, within: pageLimit, attempt: Self.listAttempt) { [self, last] in
                listRequest(after: last)
            }
            guard let page = BucketListing(answer.body) else { throw .refused("no list") }
            // The folder's own object, which some tools make, has the prefix as its key.
            let keys = page.keys.filter { $0 != prefix && $0.utf8.starts(with: prefix.utf8) }.map {
                String(Substring($0.utf8.dropFirst(prefix.utf8.count)))
            }
            let names = keys.filter { FileNames.isStoredName($0) }
            guard page.isTruncated else { return names }
            // Else files of later pages would be missing.
            guard let next = keys.last, Self.areInOrder([last] + keys) else { throw .refused("no list in order") }
            guard names.isEmpty else { return names }
            last = next
        }
    }

    private static func areInOrder(_ keys: [String]) -> Bool {
        zip(keys, keys.dropFirst()).allSatisfy { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private func listRequest(after name: String) -> OutboundRequest {
        let address = configuration.address
        var query = [(name: "list-type", value: "2")]
        if !address.prefix.isEmpty { query.append((name: "prefix", value: address.prefix)) }
        if !name.isEmpty { query.append((name: "start-after", value: address.prefix + name)) }
        let signed = configuration.signature.headers(
            for: .init("GET", host: address.host, path: address.bucketPath, query: query),
            bodyHash: SignatureV4.emptyHash, at: .now)
        let url = "\(address.url(address.bucketPath))?\(SignatureV4.canonical(query: query))"
        var request = OutboundRequest(.get, url, headers: signed)
        request.answerBytesMax = Self.listBytesMax
        return request
    }

    /// Writes an object of a few bytes, to test whether writing works.
    package func probe() async throws(BucketTrouble) {
        let body = Array("Satchel keeps files here.\n".utf8)
        let hash = SHA256.hash(data: body).hex
        _ = try await run(.writing, within: .seconds(5), attempt: Self.shortAttempt) { [self] in
            request(.put, Self.probeName, headers: [("Content-Type", "text/plain")], body: body, bodyHash: hash)
        }
    }

    /// A URL with which any client can read the object for a limited time. The URL stays the same for half of that
    /// time, so that browser caches work.
    package func presignedURL(_ name: String, contentType: String, at now: Timestamp) -> String {
        let seconds = configuration.urlSeconds
        let step = Int64(seconds) * 500
        let signedAt = Timestamp(milliseconds: now.milliseconds - now.milliseconds % step)
        let address = configuration.address
        let path = address.path(of: name)
        let query = configuration.signature.presignedQuery(
            for: .init(
                "GET", host: address.host, path: path,
                query: [
                    ("response-content-type", FileNames.shownType(contentType)),
                    ("response-content-disposition", FileNames.disposition(name, contentType: contentType)),
                ]), seconds: seconds, at: signedAt)
        return "\(address.url(path))?\(query)"
    }

    // MARK: - Health

    /// The current problem; nil when none is known.
    package var trouble: BucketTrouble? { health.withLock { $0.trouble } }

    /// Whether the latest requests were unanswered, so that a request would fail without being sent.
    var isAway: Bool { health.withLock { $0.waits(at: ContinuousClock.now - start) } }

    /// Whether the latest requests were answered and there is no problem.
    var isWell: Bool { health.withLock { $0.isWell } }

    /// Reports each change of `trouble`. Called once.
    /// - Parameter wake: called after each failure, to trigger a test of the bucket.
    func onTrouble(_ tell: @escaping @Sendable (BucketTrouble?) -> Void, wake: @escaping @Sendable () -> Void) {
        listener.withLock { $0 = Listener(tell: tell, wake: wake) }
    }

    private func note(_ change: (inout BucketHealth) -> Void) {
        // Under one lock, so that the reports keep their order.
        listener.withLock { listener in
            let (before, after, isWell) = health.withLock { health in
                let before = health.trouble
                change(&health)
                return (before, health.trouble, health.isWell)
            }
            if before != after { listener?.tell(after) }
            if !isWell { listener?.wake() }
        }
    }

    // MARK: - Requests

    private func request(
        _ method: OutboundRequest.Method, _ name: String, headers: [(name: String, value: String)] = [],
        body: [UInt8] = [], bodyHash: String = SignatureV4.emptyHash
    ) -> OutboundRequest {
        let address = configuration.address
        let path = address.path(of: name)
        let signed = configuration.signature.headers(
            for: .init(method.rawValue, host: address.host, path: path, headers: headers), bodyHash: bodyHash, at: .now)
        var request = OutboundRequest(method, address.url(path), headers: signed, body: body)
        request.answerBytesMax = Self.wordsMax
        return request
    }

    /// Sends a request, with retries while they make sense. Each attempt is signed again with its own time.
    /// - Parameter kind: nil for a request that leaves the bucket's health as it is.
    private func run(
        _ kind: BucketHealth.Kind?, within limit: Duration, attempt: Duration, _ make: () -> OutboundRequest
    ) async throws(BucketTrouble) -> OutboundResponse {
        guard kind == nil || health.withLock({ $0.admits(at: ContinuousClock.now - start) }) else {
            throw .away("not asked for now")
        }
        let end = ContinuousClock.now + limit
        var retry = BucketRetry()
        while true {
            let trouble: BucketTrouble
            do throws(OutboundFailure) {
                var request = make()
                request.timeout = min(attempt, end - ContinuousClock.now)
                let answer = try await send(request)
                guard let found = BucketTrouble(status: answer.status, body: answer.body) else {
                    if let kind { note { $0.answered(kind) } }
                    return answer
                }
                trouble = found
            } catch {
                // A cancellation says nothing about the bucket.
                if error.reason == .cancelled { throw .away("cancelled") }
                trouble = BucketTrouble(error)
            }
            let step = retry.next(
                after: trouble, left: end - ContinuousClock.now, chance: Double.random(in: 0...1))
            guard case .again(let pause) = step else {
                if let kind { note { $0.failed(kind, trouble, at: ContinuousClock.now - start) } }
                throw trouble
            }
            try? await Task.sleep(for: pause)
        }
    }

    /// The MD5 in an `ETag`; nil when the `ETag` is something else, for example for objects encrypted with AWS KMS keys
    /// (docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html).
    private static func plainTag(of answer: OutboundResponse) -> String? {
        let encryption = answer.headers["x-amz-server-side-encryption"] ?? ""
        guard !encryption.hasPrefix("aws:"), answer.headers["x-amz-server-side-encryption-customer-algorithm"] == nil
        else { return nil }
        let tag = (answer.headers["etag"] ?? "").filter { $0 != "\"" }.lowercased()
        return tag.utf8.count == 32 && [UInt8](hex: tag) != nil ? tag : nil
    }
}
