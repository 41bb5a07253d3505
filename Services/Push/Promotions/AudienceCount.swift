import ObjectStore
import ParseProtocol

/// The number of devices that a push to an audience would reach now.
///
/// At most `Slice.scannedMax` installations are looked at, along the index of their ids, whatever the condition. Ids
/// begin with a turn of some moments that comes again every four minutes and are random from there on (`Names`), so
/// that where there are more these are a fair sample of devices that came over some days: 20,000 tell a share of one
/// half to within 1 in 100, 19 times of 20. Devices that were all made at once are not.
package struct AudienceCount: Sendable {
    private let condition: JSON

    /// - Throws: `.validationError` (142), `.pushMisconfigured` (115) or `.invalidChannelName` (112) for what is no
    ///   audience.
    package init(_ audience: PromotionAudience) throws {
        let (channels, filter) = try audience.members()
        guard case .condition(let condition) = try PushDraft.target(filter, channels, nil) else {
            throw ParseError.internalError
        }
        self.condition = Pushes.reachable(condition)
    }

    /// `{devices, isEstimate}`.
    /// - Parameter max: installations that are looked at.
    /// - Throws: `.invalidQuery` (102) and what else a query of installations throws.
    package func read(from reader: StoreReader, lookingAt max: Int = Slice.scannedMax) throws -> JSON {
        let all = Query(
            className: "_Installation", where: [:], order: ["objectId"], limit: 1, skip: max - 1, keys: ["objectId"])
        guard let last = try reader.documents(all, caller: .master).first?["objectId"] else {
            return Self.result(try count(condition, reader), isEstimate: false)
        }
        let found = try count(condition.adding(["objectId": ["$lte": last]]), reader)
        let total = try count([:], reader)
        return Self.result(found * total / max, isEstimate: total > max)
    }

    private func count(_ condition: JSON, _ reader: StoreReader) throws -> Int {
        try reader.count(Query(className: "_Installation", where: condition), caller: .master)
    }

    private static func result(_ devices: Int, isEstimate: Bool) -> JSON {
        ["devices": .int(Int64(devices)), "isEstimate": .bool(isEstimate)]
    }
}
