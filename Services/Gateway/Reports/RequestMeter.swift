import Foundation
import ParseProtocol
import Synchronization

/// Counts answered requests in memory. Each request costs one dictionary access under a lock that threads hardly ever
/// share.
final class RequestMeter: Sendable {
    private struct Shard {
        var counts: [RequestKind: UInt64] = [:]
        /// Names that this shard has already found in the common set of classes, so that it consults the set once per
        /// class.
        var classes: Set<String> = RequestMeter.shopClasses
    }

    /// Response times.
    let times = RouteTimes()

    /// Classes that responses have shown to exist, on any thread: they may be counted by name.
    private let classes = Mutex(RequestMeter.shopClasses)

    /// Threads are distributed over the shards.
    private let shards: [Mutexed] = (0..<8).map { _ in Mutexed() }
    private final class Mutexed: Sendable { let shard = Mutex(Shard()) }

    /// Clients choose class names, so the number of names is limited.
    private static let classesMax = 256
    /// Lines of one shard between two flushes. A hostile client can vary classes, verbs, SDKs and statuses.
    private static let kindsMax = 2048

    private static let shopClasses: Set<String> = [
        "_User", "_Session", "_Role", "_Installation", "Category", "Product", "ProductReview", "FavoriteProduct",
        "Store",
        "Order", "OrderItem", "OrderDeskNote", "PaymentMethod", "Promotion",
    ]

    private static let routes: [Substring: String] = Dictionary(
        uniqueKeysWithValues: RouteTable.mounted.firstComponents.map { ($0, "/\($0)") })

    /// Counts one request and its response.
    func count(_ request: ParseRequest, _ response: ParseResponse) {
        let sdk = ClientSDK(version: request.credentials.clientVersion)
        let statusClass = UInt8(clamping: response.status / 100)
        let path = request.path
        let className = path.first == "classes" && path.count >= 2 ? String(path[1]) : nil
        let route =
            className ?? path.first.flatMap { OwnClasses.byPath[$0] ?? Self.routes[$0] } ?? RequestKind.otherTarget
        shards[Self.shardOfThisThread].shard.withLock { shard in
            var kind = RequestKind(
                target: route, verb: request.method.rawValue, sdk: sdk, statusClass: statusClass)
            if let className, !shard.classes.contains(className) {
                if isKnown(className, exists: Self.shows(response, thatAClassExists: request)) {
                    shard.classes.insert(className)
                } else {
                    kind.target = RequestKind.otherTarget
                }
            }
            if shard.counts.count >= Self.kindsMax, shard.counts[kind] == nil { kind.target = RequestKind.otherTarget }
            shard.counts[kind, default: 0] += 1
        }
    }

    /// Whether a class may be counted by name.
    /// - Parameter exists: whether the current response shows that it exists.
    private func isKnown(_ className: String, exists: Bool) -> Bool {
        classes.withLock { classes in
            if exists, classes.count < Self.classesMax { classes.insert(className) }
            return classes.contains(className)
        }
    }

    /// A refused request, or a query without results, does not prove that the class exists.
    private static func shows(_ response: ParseResponse, thatAClassExists request: ParseRequest) -> Bool {
        guard (200..<300).contains(response.status) else { return false }
        // `{"results":[],"count":0}` has 24 bytes; a response with an object has more.
        return request.method != .get || request.path.count == 3 || response.bodyBytes > 32
    }

    /// Returns the counts since the last call and resets them.
    func drain() -> [RequestKind: UInt64] {
        var counts: [RequestKind: UInt64] = [:]
        for element in shards {
            let some = element.shard.withLock { shard in
                defer { shard.counts = [:] }
                return shard.counts
            }
            counts.merge(some, uniquingKeysWith: +)
        }
        return counts
    }

    private static var shardOfThisThread: Int {
        // Thread structures are far apart in memory, so the low bits carry no information.
        Int(truncatingIfNeeded: (UInt(pthread_self()) >> 12) % 8)
    }
}
