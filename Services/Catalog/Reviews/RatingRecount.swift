import ObjectStore
import ParseProtocol
import ServiceKit

/// The job `recountRatings`: counts the ratings of every product from its reviews, for a shop whose reviews were
/// changed without the service.
struct RatingRecount: Sendable {
    let store: ClassStore

    /// Products per read; the job reports its progress after each read.
    private static let pageMax = 200

    func run(_ tell: @Sendable (String) async throws -> Void) async throws -> String {
        var (seen, corrected) = (0, 0)
        var last = ""
        while true {
            let after = last
            let ids = try await store.read(for: nil) { reader in
                try reader.documents(
                    Query(
                        className: "Product", where: ["objectId": ["$gt": .string(after)]], order: ["objectId"],
                        limit: Self.pageMax, keys: ["objectId"]), caller: .master
                ).compactMap { $0["objectId"]?.stringValue }
            }
            guard let end = ids.last else { break }
            // One transaction per product, so that other writes run in between.
            for id in ids where try await store.write(for: nil, { try ProductRatings.recount(id, in: $0) }) {
                corrected += 1
            }
            seen += ids.count
            last = end
            try await tell("\(seen) products so far.")
        }
        return "\(seen) products, \(corrected) of them corrected."
    }
}
